package org.moe4j.core.layer;

import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;

/**
 * The routed experts work in a narrower, latent space: {@code R = combine(experts(X · downᵀ)) · upᵀ}. Router, shared experts and
 * merge see tokens of the full width.
 *
 * <p>Each token is projected once before it is dispatched, and the weighted sum of its experts once after it was combined;
 * neither activation, norm nor bias stands between, and the router's weights, with its scale, are in the sum that is projected
 * up. Source: {@code fc1_latent_proj} and {@code fc2_latent_proj} of Nemotron 3 ({@code huggingface/transformers},
 * {@code models/nemotron_h}, {@code NemotronHMoE}; {@code NVIDIA/Megatron-LM}, {@code moe_layer.py}, {@code moe_latent_size}).
 */
public final class LatentProjections implements AutoCloseable {
    private final Matrix down;
    private final Matrix up;

    private LatentProjections(Matrix down, Matrix up) {
        this.down = down;
        this.up = up;
    }

    /**
     * Two given projections.
     *
     * @param down (L×D); the handle stays the caller's and may be closed
     * @param up (D×L), likewise
     * @return the projections, with handles of their own
     * @throws IllegalArgumentException for a projection without rows or columns, or {@code up} of another shape or backend
     */
    public static LatentProjections of(Matrix down, Matrix up) {
        Require.atLeast("down.rows", down.rows(), 1);
        Require.atLeast("down.columns", down.columns(), 1);
        KernelChecks.owner("up", up, down.backend());
        int hiddenSize = down.columns();
        int latentSize = down.rows();
        KernelChecks.shape("up", up, hiddenSize, latentSize, "transposed shape of down");
        return new LatentProjections(down.share(), up.share());
    }

    /**
     * Random projections that keep the variance: normal with standard deviation {@code 1/√in}.
     *
     * @param hiddenSize D, at least 1
     * @param latentSize L, at least 1
     * @param backend makes the weights
     * @param seed the same seed gives the same weights on every backend
     * @return the projections
     * @throws IllegalArgumentException for {@code hiddenSize} below 1 or {@code latentSize} below 1
     */
    public static LatentProjections random(int hiddenSize, int latentSize, Backend backend, long seed) {
        Require.atLeast("hiddenSize", hiddenSize, 1);
        Require.atLeast("latentSize", latentSize, 1);
        SplittableRandom seeds = new SplittableRandom(seed);
        Initializer in = Initializer.normal(1 / Math.sqrt(hiddenSize));
        Initializer out = Initializer.normal(1 / Math.sqrt(latentSize));
        try (Matrix down = in.draw(backend, latentSize, hiddenSize, seeds.nextLong());
                Matrix up = out.draw(backend, hiddenSize, latentSize, seeds.nextLong())) {
            return of(down, up);
        }
    }

    /**
     * Width of the layer's tokens.
     *
     * @return D
     */
    public int hiddenSize() {
        return down.columns();
    }

    /**
     * Width of the experts' tokens.
     *
     * @return L
     */
    public int latentSize() {
        return down.rows();
    }

    /**
     * The projections; the handles belong to the caller.
     *
     * @return {@code down} (L×D) and {@code up} (D×L)
     */
    public Parameters parameters() {
        return Parameters.of("down", down.share()).and(Parameters.of("up", up.share()));
    }

    /**
     * Other projections of the same shapes.
     *
     * @param parameters {@code down} (L×D) and {@code up} (D×L)
     * @return new projections; these stay as they are
     * @throws IllegalArgumentException for other names, shapes or backends
     */
    public LatentProjections withParameters(Parameters parameters) {
        try (Parameters own = parameters()) {
            parameters.requireNames(own.names());
        }
        KernelChecks.owner("down", parameters.get("down"), down.backend());
        KernelChecks.shape("down", parameters.get("down"), latentSize(), hiddenSize(), "shape of the one it replaces");
        return of(parameters.get("down"), parameters.get("up"));
    }

    void requireBackend(Backend backend) {
        KernelChecks.owner("latent.down", down, backend);
    }

    /** (n×D) to (n×L). */
    Matrix into(Matrix tokens) {
        return tokens.backend().matmulTransB(tokens, down);
    }

    /** (n×L) to (n×D). */
    Matrix outOf(Matrix latent) {
        return latent.backend().matmulTransB(latent, up);
    }

    /** Adjoint of {@link #into}: (n×L) to (n×D). */
    Matrix intoBackward(Matrix dLatent) {
        return dLatent.backend().matmul(dLatent, down);
    }

    /** Adjoint of {@link #outOf}: (n×D) to (n×L). */
    Matrix outOfBackward(Matrix dTokens) {
        return dTokens.backend().matmul(dTokens, up);
    }

    /** Another handle on both, as a pass keeps it. */
    LatentProjections share() {
        return new LatentProjections(down.share(), up.share());
    }

    /** Gives up both handles; doing so again changes nothing. */
    @Override
    public void close() {
        down.close();
        up.close();
    }
}
