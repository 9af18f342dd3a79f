package org.moe4j.router;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
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
import org.moe4j.router.loss.RouterLoss;

/**
 * A linear router: logits {@code L = X · W_rᵀ} (plus a bias), then scores, the K best experts, renormalisation and scale, as a
 * {@link RouterConfig} names them. A token's experts are ordered by descending choice score, equal ones by index.
 *
 * <p>The product carries the rounding of the {@link RouterPrecision}; everything after it is {@code double} on the host. A router
 * is immutable and may be used by several threads at once. It has handles of its own on its weight and bias.
 */
public final class TopKRouter implements Router {
    private static final String WEIGHT = "weight";
    private static final String BIAS = "bias";

    private final RouterConfig config;
    private final Matrix weight;
    private final Optional<Matrix> bias;
    private final Optional<SelectionBias> selectionBias;
    private final List<RouterLoss> losses;

    private TopKRouter(
            RouterConfig config,
            Matrix weight,
            Optional<Matrix> bias,
            Optional<SelectionBias> selectionBias,
            List<RouterLoss> losses) {
        this.config = config;
        this.weight = weight;
        this.bias = bias;
        this.selectionBias = selectionBias;
        this.losses = losses;
    }

    /**
     * A router with a given weight and no bias on its logits. A selection bias starts at zero.
     *
     * @param config its conventions
     * @param weight (E×D), as in checkpoints; the handle stays the caller's and may be closed
     * @return the router
     */
    public static TopKRouter of(RouterConfig config, Matrix weight) {
        checkWeight(config, weight);
        if (config.logitBias()) {
            throw Require.expected(BIAS, "a matrix 1 x " + config.experts() + " (config.logitBias)", "absent");
        }
        return new TopKRouter(config, weight.share(), Optional.empty(), initialBias(config), List.of());
    }

    /**
     * A router with a given weight and a bias on its logits. A selection bias starts at zero.
     *
     * @param config its conventions, with {@code logitBias}
     * @param weight (E×D), as in checkpoints; the handle stays the caller's and may be closed
     * @param bias (1×E); the handle stays the caller's and may be closed
     * @return the router
     */
    public static TopKRouter of(RouterConfig config, Matrix weight, Matrix bias) {
        checkWeight(config, weight);
        if (!config.logitBias()) {
            throw Require.expected("config.logitBias", "true with a bias on the logits", false);
        }
        KernelChecks.owner(BIAS, bias, weight.backend());
        KernelChecks.shape(BIAS, bias, 1, config.experts(), "one number per expert");
        return new TopKRouter(config, weight.share(), Optional.of(bias.share()), initialBias(config), List.of());
    }

    private static void checkWeight(RouterConfig config, Matrix weight) {
        Require.count(WEIGHT, weight.rows(), config.experts(), "rows (experts)");
        if (weight.columns() < 1) {
            throw Require.expected(WEIGHT, "at least 1 column (hidden size)", weight.columns());
        }
    }

    private static Optional<SelectionBias> initialBias(RouterConfig config) {
        return config.selectionBias() ? Optional.of(SelectionBias.zeros(config.experts())) : Optional.empty();
    }

    /**
     * A random router: normal with standard deviation {@code 1/√D}, so that logits of unit-variance tokens have unit
     * variance. Biases start at zero.
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
     * A random router. Biases start at zero.
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
        Matrix drawn = initializer.draw(backend, config.experts(), hiddenSize, seed);
        Optional<Matrix> zeros = config.logitBias()
                ? Optional.of(backend.matrix(1, config.experts(), new double[config.experts()]))
                : Optional.empty();
        return new TopKRouter(config, drawn, zeros, initialBias(config), List.of());
    }

    /**
     * The same router with a selection bias; its configuration says so then, if it did not before.
     *
     * @param other E values
     * @return a new router with handles of its own on the same parameters
     */
    public TopKRouter withSelectionBias(SelectionBias other) {
        Require.count("selectionBias", other.experts(), config.experts(), "values (experts)");
        return new TopKRouter(
                config.withSelectionBias(true), weight.share(), bias.map(Matrix::share), Optional.of(other), losses);
    }

    /**
     * The same router with losses, in place of those it had; they are part of {@code auxiliaryLoss()} and of its gradient.
     *
     * @param others any number of losses of one layer
     * @return a new router with handles of its own on the same parameters
     */
    public TopKRouter withLosses(RouterLoss... others) {
        return withLosses(List.of(others));
    }

    /**
     * The same router with losses, as of a preset, in place of those it had.
     *
     * @param others any number of losses of one layer
     * @return a new router with handles of its own on the same parameters
     */
    public TopKRouter withLosses(List<? extends RouterLoss> others) {
        return new TopKRouter(config, weight.share(), bias.map(Matrix::share), selectionBias, List.copyOf(others));
    }

    /**
     * The selection bias in effect.
     *
     * @return empty without one
     */
    public Optional<SelectionBias> selectionBias() {
        return selectionBias;
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

    @Override
    public OptionalInt tokenWidth() {
        return OptionalInt.of(weight.columns());
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
        checkTokens(tokens, context);
        LogitRows logits = RouterLogits.of(config.precision(), tokens, weight, bias);
        Routing routing = TokenChoice.routing(config, selectionBias, logits);
        return new TopKPass(config, tokens, weight, selectionBias, logits, routing, context, losses);
    }

    @Override
    public Routing routing(Matrix tokens, RoutingContext context) {
        checkTokens(tokens, context);
        if (!RouterLogits.areProduct(config.precision(), bias)) {
            return TokenChoice.routing(
                    config, selectionBias, RouterLogits.of(config.precision(), tokens, weight, bias));
        }
        try (Matrix logits = RouterLogits.product(tokens, weight)) {
            return TokenChoice.routing(config, selectionBias, logits);
        }
    }

    private void checkTokens(Matrix tokens, RoutingContext context) {
        Require.count("tokens", tokens.columns(), weight.columns(), "columns (hidden size of the router)");
        KernelChecks.owner("tokens", tokens, weight.backend());
        context.requireTokens(tokens.rows());
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
     * Weight and bias; the handles belong to the caller. A selection bias is no parameter.
     *
     * @return {@code weight} (E×D), and {@code bias} (1×E) with {@code logitBias}
     */
    @Override
    public Parameters parameters() {
        Parameters parameters = Parameters.of(WEIGHT, weight.share());
        return bias.map(b -> parameters.and(Parameters.of(BIAS, b.share()))).orElse(parameters);
    }

    /**
     * A router with other parameters and the same selection bias.
     *
     * @param parameters {@code weight} (E×D), and {@code bias} (1×E) with {@code logitBias}
     * @return a new router
     */
    @Override
    public TopKRouter withParameters(Parameters parameters) {
        parameters.requireNames(bias.isPresent() ? Set.of(WEIGHT, BIAS) : Set.of(WEIGHT));
        Matrix other = parameters.get(WEIGHT);
        KernelChecks.owner(WEIGHT, other, weight.backend());
        KernelChecks.shape(WEIGHT, other, weight.rows(), weight.columns(), "shape of the weight it replaces");
        Optional<Matrix> otherBias = Optional.empty();
        if (bias.isPresent()) {
            Matrix given = parameters.get(BIAS);
            KernelChecks.owner(BIAS, given, weight.backend());
            KernelChecks.shape(BIAS, given, 1, config.experts(), "shape of the bias it replaces");
            otherBias = Optional.of(given.share());
        }
        return new TopKRouter(config, other.share(), otherBias, selectionBias, losses);
    }

    /** Gives up the router's handles; doing so again changes nothing. No pass can go backward then. */
    @Override
    public void close() {
        weight.close();
        bias.ifPresent(Matrix::close);
    }

    @Override
    public String toString() {
        return "TopKRouter[hiddenSize=" + weight.columns() + ", " + config + "]";
    }
}
