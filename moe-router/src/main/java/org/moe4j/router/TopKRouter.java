package org.moe4j.router;

import java.util.Set;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;

/**
 * A linear router: logits {@code L = X · W_rᵀ}, then scores, the K best experts, renormalisation and scale, as a
 * {@link RouterConfig} names them. A token's experts are ordered by descending score, equal scores by index.
 *
 * <p>The product carries the backend's rounding; everything after it is {@code double} on the host. A router is
 * immutable and may be used by several threads at once. It has a handle of its own on its weight.
 */
public final class TopKRouter implements Router {
    private static final String WEIGHT = "weight";

    private final RouterConfig config;
    private final Matrix weight;

    private TopKRouter(RouterConfig config, Matrix weight) {
        this.config = config;
        this.weight = weight;
    }

    /**
     * A router with a given weight.
     *
     * @param config its conventions
     * @param weight (E×D), as in checkpoints; the handle stays the caller's and may be closed
     * @return the router
     */
    public static TopKRouter of(RouterConfig config, Matrix weight) {
        Require.count(WEIGHT, weight.rows(), config.experts(), "rows (experts)");
        if (weight.columns() < 1) {
            throw Require.expected(WEIGHT, "at least 1 column (hidden size)", weight.columns());
        }
        return new TopKRouter(config, weight.share());
    }

    /**
     * A random router: normal with standard deviation {@code 1/√D}, so that logits of unit-variance tokens have unit
     * variance.
     *
     * @param config its conventions
     * @param hiddenSize D, at least 1
     * @param backend makes the weight
     * @param seed the same seed gives the same weight on every backend
     * @return the router
     */
    public static TopKRouter random(RouterConfig config, int hiddenSize, Backend backend, long seed) {
        Require.atLeast("hiddenSize", hiddenSize, 1);
        return random(config, hiddenSize, backend, seed, Initializer.normal(1 / Math.sqrt(hiddenSize)));
    }

    /**
     * A random router.
     *
     * @param config its conventions
     * @param hiddenSize D, at least 1
     * @param backend makes the weight
     * @param seed the same seed gives the same weight on every backend
     * @param initializer draws the weight
     * @return the router
     */
    public static TopKRouter random(
            RouterConfig config, int hiddenSize, Backend backend, long seed, Initializer initializer) {
        Require.atLeast("hiddenSize", hiddenSize, 1);
        return new TopKRouter(config, initializer.draw(backend, config.experts(), hiddenSize, seed));
    }

    /**
     * Its conventions.
     *
     * @return as given
     */
    public RouterConfig config() {
        return config;
    }

    /**
     * Width of the tokens it routes.
     *
     * @return D
     */
    public int hiddenSize() {
        return weight.columns();
    }

    /**
     * {@inheritDoc}
     *
     * <p>The pass reads {@code tokens} and the router's weight again in its backward; see {@link TopKPass}.
     *
     * @throws IllegalArgumentException for tokens of another width or backend
     * @throws ArithmeticException when a logit is not finite, or a token has no sum to divide by
     */
    @Override
    public TopKPass route(Matrix tokens, RoutingContext context) {
        Backend backend = weight.backend();
        Require.count("tokens", tokens.columns(), weight.columns(), "columns (hidden size of the router)");
        KernelChecks.owner("tokens", tokens, backend);
        context.requireTokens(tokens.rows());
        double[] logits;
        try (Matrix product = backend.matmulTransB(tokens, weight)) {
            logits = product.toArray();
        }
        requireFinite(logits);
        return new TopKPass(config, tokens, weight, logits, routing(logits, tokens.rows()));
    }

    private void requireFinite(double[] logits) {
        for (int i = 0; i < logits.length; i++) {
            if (!Double.isFinite(logits[i])) {
                throw new ArithmeticException("router logits: expected finite values but token " + i / config.experts()
                        + ", expert " + i % config.experts() + " is " + logits[i]);
            }
        }
    }

    private Routing routing(double[] logits, int tokens) {
        int topK = config.topK();
        int[] experts = new int[Require.elements(tokens, topK)];
        double[] weights = new double[experts.length];
        double[] scores = new double[config.experts()];
        double[] selected = new double[topK];
        for (int t = 0; t < tokens; t++) {
            config.score().scores(logits, t, scores);
            config.selection().select(scores, topK, t, experts);
            for (int rank = 0; rank < topK; rank++) {
                selected[rank] = scores[experts[t * topK + rank]];
            }
            config.renormalization().weights(selected, t, weights);
        }
        if (config.scale() != 1) {
            for (int slot = 0; slot < weights.length; slot++) {
                weights[slot] *= config.scale();
            }
        }
        return Routing.of(config.experts(), topK, experts, weights);
    }

    @Override
    public int experts() {
        return config.experts();
    }

    @Override
    public int topK() {
        return config.topK();
    }

    @Override
    public boolean unitSum() {
        return config.renormalization().unitSum();
    }

    @Override
    public double scale() {
        return config.scale();
    }

    /**
     * The weight; the handle belongs to the caller.
     *
     * @return {@code weight} (E×D)
     */
    @Override
    public Parameters parameters() {
        return Parameters.of(WEIGHT, weight.share());
    }

    /**
     * A router with another weight.
     *
     * @param parameters {@code weight} (E×D)
     * @return a new router
     */
    @Override
    public TopKRouter withParameters(Parameters parameters) {
        Matrix other = parameters.requireNames(Set.of(WEIGHT)).get(WEIGHT);
        KernelChecks.owner(WEIGHT, other, weight.backend());
        KernelChecks.shape(WEIGHT, other, weight.rows(), weight.columns(), "shape of the weight it replaces");
        return of(config, other);
    }

    /** Gives up the router's handle on its weight; doing so again changes nothing. No pass can go backward then. */
    @Override
    public void close() {
        weight.close();
    }

    @Override
    public String toString() {
        return "TopKRouter[hiddenSize=" + weight.columns() + ", " + config + "]";
    }
}
