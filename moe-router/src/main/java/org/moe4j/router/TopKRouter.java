package org.moe4j.router;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.moe4j.core.backend.Backend;
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
    private final RouterConfig config;
    private final RouterWeights weights;
    private final Optional<SelectionBias> selectionBias;
    private final Optional<RouterNoise> noise;
    private final List<RouterLoss> losses;
    private final TokenChoice.Room room;

    private TopKRouter(
            RouterConfig config,
            RouterWeights weights,
            Optional<SelectionBias> selectionBias,
            Optional<RouterNoise> noise,
            List<RouterLoss> losses) {
        this.config = config;
        this.weights = weights;
        this.selectionBias = selectionBias;
        this.noise = noise;
        this.losses = losses;
        room = new TokenChoice.Room(config, selectionBias);
    }

    /** A router without noise or losses, whose selection bias starts at zero. */
    private static TopKRouter plain(RouterConfig config, RouterWeights weights) {
        Optional<SelectionBias> initial =
                config.selectionBias() ? Optional.of(SelectionBias.zeros(config.experts())) : Optional.empty();
        return new TopKRouter(config, weights, initial, Optional.empty(), List.of());
    }

    /**
     * A router with a given weight and no bias on its logits. A selection bias starts at zero.
     *
     * @param config its conventions
     * @param weight (E×D), as in checkpoints; the handle stays the caller's and may be closed
     * @return the router
     */
    public static TopKRouter of(RouterConfig config, Matrix weight) {
        return plain(config, RouterWeights.of(config, weight));
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
        return plain(config, RouterWeights.of(config, weight, bias));
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
     * @throws IllegalArgumentException for {@code hiddenSize} below 1
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
     * @throws IllegalArgumentException for {@code hiddenSize} below 1
     */
    public static TopKRouter random(
            RouterConfig config, int hiddenSize, Backend backend, long seed, Initializer initializer) {
        Require.atLeast("hiddenSize", hiddenSize, 1);
        return plain(config, RouterWeights.random(config, hiddenSize, backend, seed, initializer));
    }

    /**
     * The same router with a selection bias; its configuration says so then, if it did not before.
     *
     * @param other E values
     * @return a new router with handles of its own on the same parameters
     * @throws IllegalArgumentException for {@code selectionBias} with another number of values
     */
    public TopKRouter withSelectionBias(SelectionBias other) {
        Require.count("selectionBias", other.experts(), config.experts(), "values (experts)");
        return new TopKRouter(config.withSelectionBias(true), weights.shared(), Optional.of(other), noise, losses);
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
        return new TopKRouter(config, weights.shared(), selectionBias, noise, List.copyOf(others));
    }

    /**
     * The same router with another selection, as {@link ExpertSelection.PlainTopK} for the evaluation of one that was trained with
     * {@link ExpertSelection.Sinkhorn}.
     *
     * @param other from choice scores to experts
     * @return a new router with handles of its own on the same parameters
     */
    public TopKRouter withSelection(ExpertSelection other) {
        return new TopKRouter(config.withSelection(other), weights.shared(), selectionBias, noise, losses);
    }

    /**
     * The same router with another number of experts per token.
     *
     * @param other K in 1..E
     * @return a new router with handles of its own on the same parameters
     */
    public TopKRouter withTopK(int other) {
        return new TopKRouter(config.withTopK(other), weights.shared(), selectionBias, noise, losses);
    }

    /**
     * The same router with noise, in place of what it had. The parameter {@code noise} of {@link RouterNoise.LearnedNormal} starts at
     * zeros, as in the source: the deviation is {@code ln 2 + floor} for every token then.
     *
     * @param other acts under the seed of a context
     * @return a new router with handles of its own on the same parameters
     */
    public TopKRouter withNoise(RouterNoise other) {
        RouterWeights with =
                other instanceof RouterNoise.LearnedNormal ? weights.withZeroNoise() : weights.withoutNoise();
        return new TopKRouter(config, with, selectionBias, Optional.of(other), losses);
    }

    /**
     * The same router with learned noise of given weights, in place of what it had.
     *
     * @param other acts under the seed of a context
     * @param weight W_n (E×D); the handle stays the caller's and may be closed
     * @return a new router with handles of its own on the same parameters
     */
    public TopKRouter withNoise(RouterNoise.LearnedNormal other, Matrix weight) {
        return new TopKRouter(config, weights.withNoise(weight), selectionBias, Optional.of(other), losses);
    }

    /**
     * The noise of the router.
     *
     * @return empty without any
     */
    public Optional<RouterNoise> noise() {
        return noise;
    }

    List<RouterLoss> losses() {
        return losses;
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
        return weights.weight().columns();
    }

    @Override
    public OptionalInt tokenWidth() {
        return OptionalInt.of(weights.weight().columns());
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
        weights.requireTokens(tokens);
        context.requireTokens(tokens.rows());
        LogitsPass logits = LogitsPass.of(config, weights, tokens, noise, context.noiseSeed());
        Choice choice = Choice.of(config, selectionBias, logits.logits(), context);
        return new TopKPass(config, logits, selectionBias, choice, context, losses);
    }

    @Override
    public Routing routing(Matrix tokens, RoutingContext context) {
        weights.requireTokens(tokens);
        context.requireTokens(tokens.rows());
        if (context.noiseSeed().isPresent() || !RouterLogits.areProduct(config.precision(), weights.bias())) {
            LogitsPass logits = LogitsPass.of(config, weights, tokens, noise, context.noiseSeed());
            return Choice.of(config, selectionBias, logits.logits(), context).routing();
        }
        try (Matrix logits = RouterLogits.product(tokens, weights.weight())) {
            return Choice.routing(room, logits, context);
        }
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
    public boolean fixedCount() {
        return config.selection().fixedCount();
    }

    @Override
    public boolean unitSum() {
        return config.unitSum();
    }

    @Override
    public double scale() {
        return config.scale();
    }

    /**
     * Weight, bias and the weights of the noise; the handles belong to the caller. A selection bias is no parameter.
     *
     * @return {@code weight} (E×D), {@code bias} (1×E) with {@code logitBias}, {@code noise} (E×D) with learned noise
     */
    @Override
    public Parameters parameters() {
        return weights.parameters();
    }

    /**
     * A router with other parameters and the same selection bias.
     *
     * @param parameters those of {@link #parameters()}, of the same shapes
     * @return a new router
     */
    @Override
    public TopKRouter withParameters(Parameters parameters) {
        return new TopKRouter(config, weights.replacedBy(parameters), selectionBias, noise, losses);
    }

    /** Gives up the router's handles; doing so again changes nothing. No pass can go backward then. */
    @Override
    public void close() {
        weights.close();
    }

    @Override
    public String toString() {
        return "TopKRouter[hiddenSize=" + hiddenSize() + ", " + config
                + noise.map(n -> ", " + n).orElse("") + "]";
    }
}
