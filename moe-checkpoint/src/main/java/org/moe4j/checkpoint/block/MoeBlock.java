package org.moe4j.checkpoint.block;

import java.util.Optional;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Parameters;

/**
 * An MoE layer in the residual stream: {@code h + behind(MoE(before(h)))}, where either norm may be absent.
 *
 * <p>Most families have the norm before the layer; Olmo's has one behind, or both.
 */
public final class MoeBlock implements AutoCloseable {
    private final MoeLayer layer;
    private final Optional<RmsNorm> before;
    private final Optional<RmsNorm> behind;

    private MoeBlock(MoeLayer layer, Optional<RmsNorm> before, Optional<RmsNorm> behind) {
        this.layer = layer;
        this.before = before;
        this.behind = behind;
    }

    /**
     * A block without norms.
     *
     * @param layer closed with the block
     * @return h + MoE(h)
     */
    public static MoeBlock of(MoeLayer layer) {
        return new MoeBlock(layer, Optional.empty(), Optional.empty());
    }

    /**
     * The same with a norm before the layer.
     *
     * @param norm closed with the block
     * @return a block that shares this one's parts
     */
    public MoeBlock withNormBefore(RmsNorm norm) {
        return new MoeBlock(layer, Optional.of(norm), behind);
    }

    /**
     * The same with a norm behind the layer.
     *
     * @param norm closed with the block
     * @return a block that shares this one's parts
     */
    public MoeBlock withNormBehind(RmsNorm norm) {
        return new MoeBlock(layer, before, Optional.of(norm));
    }

    /**
     * The same around another layer, as one whose router has losses.
     *
     * @param other closed with the block
     * @return a block that shares this one's norms
     */
    public MoeBlock withLayer(MoeLayer other) {
        return new MoeBlock(other, before, behind);
    }

    /**
     * The layer.
     *
     * @return as given
     */
    public MoeLayer layer() {
        return layer;
    }

    /**
     * The norm before the layer.
     *
     * @return empty without one
     */
    public Optional<RmsNorm> before() {
        return before;
    }

    /**
     * The norm behind the layer.
     *
     * @return empty without one
     */
    public Optional<RmsNorm> behind() {
        return behind;
    }

    /**
     * All parameters; the handles belong to the caller.
     *
     * @return those of the layer, and {@code norm.before} and {@code norm.behind} (1×D) where there are such
     */
    public Parameters parameters() {
        Parameters all = layer.parameters();
        if (before.isPresent()) {
            all = all.and(named("norm.before", before.get().parameters()));
        }
        return behind.isPresent() ? all.and(named("norm.behind", behind.get().parameters())) : all;
    }

    /** The weight of a norm, or its gradient, by its name in the block. */
    static Parameters named(String name, Parameters ofNorm) {
        return Parameters.of(name, ofNorm.get(RmsNorm.WEIGHT));
    }

    /**
     * Runs the block in the plain context.
     *
     * @param hidden h (T×D), finite
     * @return the pass
     */
    public MoeBlockPass forward(Matrix hidden) {
        return forward(hidden, RoutingContext.plain());
    }

    /**
     * Runs the block and keeps what backward needs.
     *
     * @param hidden h (T×D), finite
     * @param context what the router may need beside the tokens
     * @return the pass, to be closed
     */
    public MoeBlockPass forward(Matrix hidden, RoutingContext context) {
        try (Unfinished made = new Unfinished();
                Matrix tokens = normed(hidden)) {
            MoePass pass = made.add(layer.forward(tokens, context));
            Matrix ofLayer = made.add(pass.output());
            Matrix branch = made.add(behind.map(norm -> norm.apply(ofLayer)).orElseGet(ofLayer::share));
            Matrix output = made.add(hidden.backend().add(hidden, branch));
            branch.close();
            MoeBlockPass done = new MoeBlockPass(this, hidden.share(), pass, ofLayer, output);
            made.keep();
            return done;
        }
    }

    private Matrix normed(Matrix hidden) {
        return before.map(norm -> norm.apply(hidden)).orElseGet(hidden::share);
    }

    /** Releases layer and norms; doing so again changes nothing. */
    @Override
    public void close() {
        layer.close();
        before.ifPresent(RmsNorm::close);
        behind.ifPresent(RmsNorm::close);
    }

    @Override
    public String toString() {
        return "MoeBlock[" + before.map(norm -> "before " + norm + ", ").orElse("") + layer
                + behind.map(norm -> ", behind " + norm).orElse("") + "]";
    }
}
