package org.moe4j.core.layer;

import java.util.Optional;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Parameters;

/**
 * A Mixture-of-Experts layer: router, routed experts and, where a model has one, a shared branch.
 *
 * <p>{@code y_t = Σ_i r_ti · f_i(x_t) + s_t · g(x_t)}; without a shared branch {@code r} is the router's weight
 * (Equation 80 of the report on Olmo's MoE recipe). A layer is immutable and may be used by several threads at once. The
 * {@code with…} methods give layers that share their banks with this one; closing any of them closes them all, with router
 * and merge.
 */
public final class MoeLayer implements AutoCloseable {
    private final LayerParts parts;
    private final ParameterShapes shapes;

    private MoeLayer(LayerParts parts) {
        this.parts = parts;
        try (Parameters all = parts.parameters()) {
            shapes = new ParameterShapes(all, parts.backend());
        }
    }

    /**
     * A dropless layer without a shared branch.
     *
     * @param router decides where tokens go
     * @param experts as many as the router chooses from
     * @return the layer
     */
    public static MoeLayer of(Router router, Experts experts) {
        return of(router, new RoutedBranch(experts, Optional.empty(), WeightPlace.OUTPUT));
    }

    /**
     * A dropless layer without a shared branch, whose experts work in a latent space.
     *
     * @param router decides where tokens go; it sees their full width
     * @param experts as many as the router chooses from, with the latent size as their hidden size
     * @param latent around the experts; the layer closes them with itself
     * @return the layer
     */
    public static MoeLayer of(Router router, Experts experts, LatentProjections latent) {
        return of(router, new RoutedBranch(experts, Optional.of(latent), WeightPlace.OUTPUT));
    }

    private static MoeLayer of(Router router, RoutedBranch routed) {
        return new MoeLayer(new LayerParts(router, routed, Optional.empty(), Capacity.dropless(), Optional.empty()));
    }

    /**
     * The same layer with another router, as one whose selection bias a trainer has updated.
     *
     * @param other chooses from as many experts
     * @return a layer that shares this one's banks; the router it replaces stays open, and is the caller's to close
     * @throws IllegalArgumentException when the router does not fit the experts, or the merge convention does not fit it
     */
    public MoeLayer withRouter(Router other) {
        return new MoeLayer(parts.withRouter(other));
    }

    /**
     * The same layer with a shared branch.
     *
     * @param branch shared experts and merge
     * @return a layer that shares this one's banks
     * @throws IllegalArgumentException when the merge convention does not fit the router or the widths
     */
    public MoeLayer withShared(SharedBranch branch) {
        return new MoeLayer(parts.withShared(branch));
    }

    /**
     * The same layer with a capacity.
     *
     * @param limit rows an expert may take
     * @return a layer that shares this one's banks
     */
    public MoeLayer withCapacity(Capacity limit) {
        return new MoeLayer(parts.withCapacity(limit));
    }

    /**
     * The same layer with its routing weights multiplied elsewhere.
     *
     * @param place before or after the experts
     * @return a layer that shares this one's banks
     * @throws IllegalArgumentException for weights on the input with a router whose tokens have more than one expert, or a number
     *     that varies, or with a merge that presumes them on the output
     */
    public MoeLayer withWeightPlace(WeightPlace place) {
        RoutedBranch routed = parts.routed();
        return new MoeLayer(parts.withRouted(new RoutedBranch(routed.experts(), routed.latent(), place)));
    }

    /**
     * The same layer with jittered tokens in every run whose context has a noise seed. Router, experts, shared experts and merge
     * all see the jittered tokens; the plain context never jitters.
     *
     * @param jitter how the tokens are changed
     * @return a layer that shares this one's banks
     */
    public MoeLayer withTokenJitter(TokenJitter jitter) {
        return new MoeLayer(parts.withJitter(jitter));
    }

    /**
     * Runs the layer in the plain context.
     *
     * @param tokens (T×D), finite
     * @return the pass
     */
    public MoePass forward(Matrix tokens) {
        return forward(tokens, RoutingContext.plain());
    }

    /**
     * Runs the layer and keeps what backward needs.
     *
     * @param tokens (T×D), finite; T may be 0
     * @param context what the router may need beside the tokens
     * @return the pass
     * @throws IllegalArgumentException for a wrong width, a foreign matrix, or a token that is not finite
     * @throws ArithmeticException for a router logit that is not finite
     */
    public MoePass forward(Matrix tokens, RoutingContext context) {
        return new TrainingRun(parts, shapes).run(tokens, context);
    }

    /**
     * Runs the layer in the plain context and keeps nothing.
     *
     * @param tokens (T×D), finite; T may be 0
     * @return (T×D)
     */
    public Matrix apply(Matrix tokens) {
        return apply(tokens, RoutingContext.plain());
    }

    /**
     * Runs the layer and keeps nothing: the output of {@link #forward(Matrix, RoutingContext)} in the same context, with the noise of
     * its seed if it has one. The experts work in chunks of tokens, so that their scratch does not grow with T; the router's product,
     * the routing (T·E and T·K numbers) and jittered tokens are made for all tokens at once.
     *
     * @param tokens (T×D), finite; T may be 0
     * @param context sequences, as a capacity or a selection may need them, mask and seed
     * @return (T×D)
     * @throws IllegalArgumentException as {@link #forward(Matrix, RoutingContext)}
     */
    public Matrix apply(Matrix tokens, RoutingContext context) {
        try (Unfinished made = new Unfinished()) {
            parts.requireTokens(tokens, context);
            Matrix output = made.add(parts.backend().buffer(tokens.rows(), tokens.columns()));
            new InferenceRun(parts).run(tokens, context, output);
            made.keep();
            return output;
        }
    }

    /**
     * {@link #apply(Matrix)} into a given buffer.
     *
     * @param tokens (T×D), finite; T may be 0
     * @param output a {@link Backend#buffer} (T×D), overwritten
     */
    public void applyInto(Matrix tokens, Matrix output) {
        applyInto(tokens, RoutingContext.plain(), output);
    }

    /**
     * {@link #apply(Matrix, RoutingContext)} into a given buffer.
     *
     * @param tokens (T×D), finite; T may be 0
     * @param context sequences, mask and seed
     * @param output a {@link Backend#buffer} (T×D), overwritten
     * @throws IllegalArgumentException as {@link #forward(Matrix, RoutingContext)}, and for an output that is no buffer, or of
     *     another shape
     */
    public void applyInto(Matrix tokens, RoutingContext context, Matrix output) {
        parts.requireTokens(tokens, context);
        KernelChecks.owner("output", output, parts.backend());
        KernelChecks.buffer("output", output, tokens.rows(), tokens.columns(), "shape of tokens");
        new InferenceRun(parts).run(tokens, context, output);
    }

    /**
     * The router.
     *
     * @return as given
     */
    public Router router() {
        return parts.router();
    }

    /**
     * The routed experts.
     *
     * @return as given
     */
    public Experts experts() {
        return parts.routed().experts();
    }

    /**
     * The shared branch.
     *
     * @return empty for a layer without one
     */
    public Optional<SharedBranch> shared() {
        return parts.shared();
    }

    /**
     * The capacity.
     *
     * @return dropless unless set
     */
    public Capacity capacity() {
        return parts.capacity();
    }

    /**
     * The latent projections.
     *
     * @return empty for a layer whose experts see the full width
     */
    public Optional<LatentProjections> latent() {
        return parts.routed().latent();
    }

    /**
     * Where the routing weights multiply.
     *
     * @return on the output unless set
     */
    public WeightPlace weightPlace() {
        return parts.routed().place();
    }

    /**
     * The token jitter.
     *
     * @return empty for a layer without one
     */
    public Optional<TokenJitter> tokenJitter() {
        return parts.jitter();
    }

    /**
     * All parameters; the handles belong to the caller.
     *
     * @return named as {@code router.weight}, {@code experts.3.gate}, {@code latent.up},
     *     {@code shared.0.down}, {@code merge.gate}
     */
    public Parameters parameters() {
        return parts.parameters();
    }

    /**
     * The same layer with other parameters.
     *
     * @param parameters exactly the names of {@link #parameters()}, of the same shapes
     * @return a layer with banks of its own
     * @throws IllegalArgumentException for other names, shapes or backends
     */
    public MoeLayer withParameters(Parameters parameters) {
        parameters.requireNames(shapes.names());
        return new MoeLayer(parts.withParameters(parameters));
    }

    /** Releases router, experts, latent projections, shared experts and merge; doing so again changes nothing. */
    @Override
    public void close() {
        parts.close();
    }

    /** Sizes and settings, for messages and logs. */
    @Override
    public String toString() {
        return "MoeLayer" + parts;
    }
}
