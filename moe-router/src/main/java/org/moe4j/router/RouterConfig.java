package org.moe4j.router;

import java.util.Optional;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.loss.RoutedTokens;

/**
 * Every convention of a top-k router: {@code w_j = scale · renormalization(score(logits)[selection])}.
 *
 * <p>The values are independent of each other, with one exception: {@link Renormalization.SoftmaxOfSelected} ranks and weighs
 * logits, so that another score function than softmax, which would have no part in the routing, is refused with it.
 *
 * <p>What is ranked: the scores, or the logits where the {@linkplain Renormalization#ofLogits renormalisation takes logits}, plus the
 * selection bias. After softmax both give the same experts but where scores are equal by rounding; with groups ranked by
 * sums, they are different conventions.
 *
 * @param experts E, at least 1
 * @param topK K in 1..E
 * @param score from logits to scores
 * @param selection from choice scores to experts
 * @param renormalization from the scores (or logits) of the selected experts to weights
 * @param scale the model's routed scale, above 0; 1 for none. A scale of 0 is refused: Megatron-Core reads it as no scale
 * @param selectionBias whether the router has a {@link SelectionBias}
 * @param logitBias whether the router has a parameter {@code bias} (1×E), added to the logits
 * @param precision of the logits
 */
public record RouterConfig(
        int experts,
        int topK,
        ScoreFunction score,
        ExpertSelection selection,
        Renormalization renormalization,
        double scale,
        boolean selectionBias,
        boolean logitBias,
        RouterPrecision precision) {
    /**
     * Checks that the values go together.
     *
     * @param experts E, at least 1
     * @param topK K in 1..E
     * @param score from logits to scores
     * @param selection from choice scores to experts
     * @param renormalization from the scores (or logits) of the selected experts to weights
     * @param scale the model's routed scale, above 0; 1 for none
     * @param selectionBias whether the router has a selection bias
     * @param logitBias whether the router has a bias on its logits
     * @param precision of the logits
     * @throws IllegalArgumentException for K outside 1..E, a scale that is not finite and above 0, or settings that do not go
     *     together
     */
    public RouterConfig {
        Require.atLeast("experts", experts, 1);
        Require.inRange("topK", topK, 1, experts, "experts");
        selection.requireFits(experts, topK);
        if (selectionBias && !selection.takesSelectionBias()) {
            throw Require.expected("selectionBias", "false with " + selection, true);
        }
        if (!(scale > 0) || Double.isInfinite(scale)) {
            throw Require.expected("scale", "a finite number above 0", scale);
        }
        if (renormalization.ofLogits() && !(score instanceof ScoreFunction.Softmax)) {
            throw Require.expected("score", "Softmax[] with " + renormalization + ", which takes logits", score);
        }
    }

    /**
     * Softmax over all experts, the K largest, no renormalisation, no scale, no bias.
     *
     * @param experts E, at least 1
     * @param topK K in 1..E
     * @return the plainest configuration
     */
    public static RouterConfig topK(int experts, int topK) {
        return new RouterConfig(
                experts,
                topK,
                new ScoreFunction.Softmax(),
                new ExpertSelection.PlainTopK(),
                new Renormalization.None(),
                1.0,
                false,
                false,
                RouterPrecision.BACKEND);
    }

    /**
     * The router of a preset, from its section {@code router}. What is absent is as in {@link #topK}.
     *
     * <ul>
     *   <li>{@code topK}, required
     *   <li>{@code score}: softmax, sigmoid or sqrt-softplus; with sigmoid {@code score.epsilon}
     *   <li>{@code selection}: plain, group-limited, top-two, sinkhorn or expert-choice; with groups {@code selection.groups}, {@code selection.keptGroups} and
     *       {@code selection.groupScore} (max, sum-of-top-N, top-k-per-kept-group), all required, and
     *       {@code selection.closedGroups} (minus-infinity or zero); with two {@code selection.secondExpert} (all, random, sampled) and,
     *       required with random, {@code selection.threshold}; with sinkhorn {@code selection.tolerance} and
     *       {@code selection.maxIterations}; with expert-choice {@code selection.factor}, required, {@code selection.share},
     *       {@code selection.rounding}, {@code selection.minimum}, {@code selection.multipleOf} and {@code selection.groupSize}
     *   <li>{@code selectionBias} and {@code logitBias}: true or false
     *   <li>{@code renormalization}: none, sum, softmax-of-selected or norm; with sum {@code renormalization.epsilon} and
     *       {@code renormalization.epsilonPlace} (in-sum, per-score or floor); with norm {@code renormalization.p}, required
     *   <li>{@code scale}: a number above 0
     *   <li>{@code precision}: backend or double
     * </ul>
     *
     * @param preset the model's layer
     * @return its router's configuration
     * @throws IllegalArgumentException for an unknown key, a value that is none of the known ones, or a key that has no meaning
     *     beside the others
     */
    public static RouterConfig from(Preset preset) {
        return RouterSection.read(preset);
    }

    /**
     * What these conventions make of given logits, as of a trace: the routing that a router with these logits has.
     *
     * @param logits T·E finite numbers, token after token
     * @return the routing of T tokens
     * @throws ArithmeticException when a logit is not finite, or a token has no sum to divide by
     */
    public Routing routing(double[] logits) {
        requireNoBias();
        return Choice.of(this, Optional.empty(), rows(logits), RoutingContext.plain())
                .routing();
    }

    /**
     * The same with a selection bias.
     *
     * @param logits T·E finite numbers, token after token
     * @param bias E values
     * @return the routing of T tokens
     * @throws ArithmeticException when a logit is not finite, or a token has no sum to divide by
     */
    public Routing routing(double[] logits, SelectionBias bias) {
        requireBias(bias);
        return Choice.of(this, Optional.of(bias), rows(logits), RoutingContext.plain())
                .routing();
    }

    /**
     * The same for logits in a matrix.
     *
     * @param logits (T×E), finite
     * @return the routing of T tokens
     * @throws ArithmeticException when a logit is not finite, or a token has no sum to divide by
     */
    public Routing routing(Matrix logits) {
        requireNoBias();
        Require.count("logits", logits.columns(), experts, "columns (experts)");
        return Choice.routing(new TokenChoice.Room(this, Optional.empty()), logits, RoutingContext.plain());
    }

    /**
     * The same for logits in a matrix, with a selection bias.
     *
     * @param logits (T×E), finite
     * @param bias E values
     * @return the routing of T tokens
     * @throws ArithmeticException when a logit is not finite, or a token has no sum to divide by
     */
    public Routing routing(Matrix logits, SelectionBias bias) {
        requireBias(bias);
        Require.count("logits", logits.columns(), experts, "columns (experts)");
        return Choice.routing(new TokenChoice.Room(this, Optional.of(bias)), logits, RoutingContext.plain());
    }

    /**
     * The same with all that losses read, in parts of a trace too. Nothing adds noise to these logits.
     *
     * @param logits T·E finite numbers, token after token; copied
     * @param context which rows count, and where sequences end
     * @return as a router with these logits gives it to its losses
     * @throws ArithmeticException when a logit is not finite, or a token has no sum to divide by
     */
    public RoutedTokens routed(double[] logits, RoutingContext context) {
        requireNoBias();
        return RoutedLogits.of(this, Optional.empty(), rows(logits.clone()), context);
    }

    /**
     * The same with a selection bias.
     *
     * @param logits T·E finite numbers, token after token; copied
     * @param bias E values
     * @param context which rows count, and where sequences end
     * @return as a router with these logits gives it to its losses
     * @throws ArithmeticException when a logit is not finite, or a token has no sum to divide by
     */
    public RoutedTokens routed(double[] logits, SelectionBias bias, RoutingContext context) {
        requireBias(bias);
        return RoutedLogits.of(this, Optional.of(bias), rows(logits.clone()), context);
    }

    /**
     * Whether the weights of every token add up to the scale, whatever its logits.
     *
     * @return true with a renormalisation that makes unit sums, where every token keeps all K experts
     */
    public boolean unitSum() {
        return renormalization.unitSum() && selection.fixedCount();
    }

    private void requireNoBias() {
        if (selectionBias) {
            throw Require.expected("selectionBias", "a SelectionBias (config.selectionBias)", "absent");
        }
    }

    private void requireBias(SelectionBias bias) {
        if (!selectionBias) {
            throw Require.expected("config.selectionBias", "true with a selection bias", false);
        }
        Require.count("selectionBias", bias.experts(), experts, "values (experts)");
    }

    private LogitRows rows(double[] logits) {
        if (logits.length % experts != 0) {
            throw Require.expected("logits", "a multiple of " + experts + " numbers (experts)", logits.length);
        }
        return LogitRows.of(experts, logits);
    }

    /**
     * The same with another score function.
     *
     * @param other from logits to scores
     * @return a changed copy
     */
    public RouterConfig withScore(ScoreFunction other) {
        return new RouterConfig(
                experts, topK, other, selection, renormalization, scale, selectionBias, logitBias, precision);
    }

    /**
     * The same with another selection.
     *
     * @param other from choice scores to experts
     * @return a changed copy
     */
    public RouterConfig withSelection(ExpertSelection other) {
        return new RouterConfig(
                experts, topK, score, other, renormalization, scale, selectionBias, logitBias, precision);
    }

    /**
     * The same with another renormalisation.
     *
     * @param other from the scores (or logits) of the selected experts to weights
     * @return a changed copy
     */
    public RouterConfig withRenormalization(Renormalization other) {
        return new RouterConfig(experts, topK, score, selection, other, scale, selectionBias, logitBias, precision);
    }

    /**
     * The same with another scale.
     *
     * @param other above 0
     * @return a changed copy
     */
    public RouterConfig withScale(double other) {
        return new RouterConfig(
                experts, topK, score, selection, renormalization, other, selectionBias, logitBias, precision);
    }

    /**
     * The same with another number of experts.
     *
     * @param other E, at least K
     * @return a changed copy
     */
    public RouterConfig withExperts(int other) {
        return new RouterConfig(
                other, topK, score, selection, renormalization, scale, selectionBias, logitBias, precision);
    }

    /**
     * The same with another number of experts per token.
     *
     * @param other K in 1..E
     * @return a changed copy
     */
    public RouterConfig withTopK(int other) {
        return new RouterConfig(
                experts, other, score, selection, renormalization, scale, selectionBias, logitBias, precision);
    }

    /**
     * The same with or without a selection bias.
     *
     * @param other whether the router has one
     * @return a changed copy
     */
    public RouterConfig withSelectionBias(boolean other) {
        return new RouterConfig(experts, topK, score, selection, renormalization, scale, other, logitBias, precision);
    }

    /**
     * The same with or without a bias on the logits.
     *
     * @param other whether the router has one
     * @return a changed copy
     */
    public RouterConfig withLogitBias(boolean other) {
        return new RouterConfig(
                experts, topK, score, selection, renormalization, scale, selectionBias, other, precision);
    }

    /**
     * The same with another precision of the logits.
     *
     * @param other what the product is computed in
     * @return a changed copy
     */
    public RouterConfig withPrecision(RouterPrecision other) {
        return new RouterConfig(
                experts, topK, score, selection, renormalization, scale, selectionBias, logitBias, other);
    }
}
