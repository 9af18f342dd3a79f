package org.moe4j.router;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.router.loss.LogitGradients;
import org.moe4j.router.loss.RoutedTokens;
import org.moe4j.router.loss.RouterLoss;

/**
 * What a {@link TopKRouter} computed for T tokens.
 *
 * <p>A pass owns no native memory and need not be closed. It keeps the logits, and reads two matrices of others again in
 * {@link #backward}: the tokens it was made from, by the very handle that was given to the router, and the router's
 * weight. Both have to be open until then; a pass of a layer keeps the tokens open until it is closed. Scores are
 * computed again from the logits where they are needed, with the same bits.
 */
public final class TopKPass implements RouterPass, RoutedTokens {
    private final RouterConfig config;
    private final Matrix tokens;
    private final Matrix weight;
    private final Optional<SelectionBias> selectionBias;
    private final LogitRows logits;
    private final Routing routing;
    private final RoutingContext context;
    private final List<RouterLoss> losses;

    TopKPass(
            RouterConfig config,
            Matrix tokens,
            Matrix weight,
            Optional<SelectionBias> selectionBias,
            LogitRows logits,
            Routing routing,
            RoutingContext context,
            List<RouterLoss> losses) {
        this.config = config;
        this.tokens = tokens;
        this.weight = weight;
        this.selectionBias = selectionBias;
        this.logits = logits;
        this.routing = routing;
        this.context = context;
        this.losses = losses;
    }

    @Override
    public Routing routing() {
        return routing;
    }

    @Override
    public RoutingContext context() {
        return context;
    }

    @Override
    public double auxiliaryLoss() {
        double sum = 0;
        for (RouterLoss loss : losses) {
            sum += lossValue(loss);
        }
        return sum;
    }

    /**
     * What a loss is worth for this routing, whether the router has it or not.
     *
     * @param loss of one layer
     * @return already multiplied by its coefficient
     */
    public double lossValue(RouterLoss loss) {
        return loss.value(List.of(this));
    }

    /**
     * What each loss of the router is worth, in the order of {@link #losses}; their sum is {@link #auxiliaryLoss}.
     *
     * @return one number per loss, already multiplied by its coefficient
     */
    public double[] lossValues() {
        return losses.stream().mapToDouble(this::lossValue).toArray();
    }

    /**
     * The losses of the router.
     *
     * @return in the order in which they were given
     */
    public List<RouterLoss> losses() {
        return losses;
    }

    @Override
    public double[] logits() {
        return logits.toArray();
    }

    @Override
    public double[] scores() {
        int experts = config.experts();
        double[] all = new double[routing.tokens() * experts];
        double[] row = new double[experts];
        double[] scores = new double[experts];
        for (int t = 0; t < routing.tokens(); t++) {
            logits.row(t, row);
            config.score().scores(row, 0, scores);
            System.arraycopy(scores, 0, all, t * experts, experts);
        }
        return all;
    }

    @Override
    public double[] logitGradients(double[] dScores) {
        int experts = config.experts();
        Require.count("dScores", dScores.length, (long) routing.tokens() * experts, "numbers (T x E)");
        double[] all = logits.toArray();
        double[] dLogits = new double[all.length];
        double[] scores = new double[experts];
        double[] dRow = new double[experts];
        for (int t = 0; t < routing.tokens(); t++) {
            config.score().scores(all, t, scores);
            System.arraycopy(dScores, t * experts, dRow, 0, experts);
            config.score().logitGradients(all, t, scores, dRow, dLogits);
        }
        return dLogits;
    }

    @Override
    public double[] logitGradientsOfWeights(double[] dWeights) {
        Require.count("dWeights", dWeights.length, routing.slots(), "numbers (T x K)");
        double[] dLogits = new double[routing.tokens() * config.experts()];
        addLogitGradients(dWeights, dLogits);
        return dLogits;
    }

    /**
     * What the experts were ranked by: scores, or logits where the renormalisation takes logits, plus the selection bias, with the fill
     * for experts of closed groups.
     *
     * @return T·E numbers, token after token; a copy
     */
    public double[] choiceScores() {
        int experts = config.experts();
        double[] all = new double[routing.tokens() * experts];
        TokenChoice choice = new TokenChoice(config, selectionBias);
        for (int t = 0; t < routing.tokens(); t++) {
            System.arraycopy(choice.choiceScores(logits, t), 0, all, t * experts, experts);
        }
        return all;
    }

    /**
     * {@inheritDoc}
     *
     * <p>Undoes scale, renormalisation and selection, then the score function; with the gradient {@code dL} of the logits,
     * {@code dX = dL · W_r} and {@code dW_r = dLᵀ · X}; the bias on the logits gets the sum of the rows of {@code dL}. A selection bias
     * has no gradient.
     *
     * @param dWeights T·K numbers, token after token and rank after rank
     * @param dLogits T·E numbers or none
     * @return input (T×D), {@code weight} (E×D) and, with {@code logitBias}, {@code bias} (1×E), all the caller's
     */
    @Override
    public Gradients backward(double[] dWeights, double[] dLogits) {
        double[] all = allLogitGradients(dWeights, dLogits);
        Backend backend = weight.backend();
        try (Matrix dAll = backend.matrix(routing.tokens(), config.experts(), all)) {
            Matrix dWeight = backend.matmulTransA(dAll, tokens);
            Parameters dParameters = Parameters.of("weight", dWeight);
            if (config.logitBias()) {
                dParameters = dParameters.and(Parameters.of("bias", backend.matrix(1, config.experts(), rowSum(all))));
            }
            return new Gradients(backend.matmul(dAll, weight), dParameters);
        }
    }

    @Override
    public Matrix backward(double[] dWeights, double[] dLogits, Set<String> wanted, Parameters into) {
        double[] all = allLogitGradients(dWeights, dLogits);
        Backend backend = weight.backend();
        try (Matrix dAll = backend.matrix(routing.tokens(), config.experts(), all)) {
            if (wanted.contains("weight")) {
                try (Matrix dWeight = backend.matmulTransA(dAll, tokens)) {
                    backend.accumulate(1, into.get("weight"), 0, dWeight);
                }
            }
            if (wanted.contains("bias")) {
                try (Matrix dBias = backend.matrix(1, config.experts(), rowSum(all))) {
                    backend.accumulate(1, into.get("bias"), 0, dBias);
                }
            }
            return backend.matmul(dAll, weight);
        }
    }

    /** Through weights and losses, and what the caller gives. */
    private double[] allLogitGradients(double[] dWeights, double[] dLogits) {
        Require.count("dWeights", dWeights.length, routing.slots(), "numbers (T x K)");
        int numbers = routing.tokens() * config.experts();
        if (dLogits.length != 0) {
            Require.count("dLogits", dLogits.length, numbers, "numbers (T x E)");
        }
        double[] all = dLogits.length == 0 ? new double[numbers] : dLogits.clone();
        addLogitGradients(dWeights, all);
        addLossGradients(all);
        return all;
    }

    private void addLossGradients(double[] dLogits) {
        if (losses.isEmpty()) {
            return;
        }
        LogitGradients sum = LogitGradients.zeros(this);
        losses.forEach(loss -> loss.addGradients(List.of(this), List.of(sum)));
        for (int i = 0; i < dLogits.length; i++) {
            dLogits[i] += sum.logits()[i];
        }
    }

    private double[] rowSum(double[] rows) {
        double[] sum = new double[config.experts()];
        for (int i = 0; i < rows.length; i++) {
            sum[i % sum.length] += rows[i];
        }
        return sum;
    }

    private void addLogitGradients(double[] dWeights, double[] dLogits) {
        int topK = config.topK();
        int experts = config.experts();
        boolean ofLogits = config.renormalization().ofLogits();
        double[] all = logits.toArray();
        double[] scores = new double[experts];
        double[] dScores = new double[experts];
        double[] selected = new double[topK];
        double[] dSlots = new double[topK];
        double[] dSelected = new double[topK];
        for (int t = 0; t < routing.tokens(); t++) {
            if (!ofLogits) {
                config.score().scores(all, t, scores);
            }
            for (int rank = 0; rank < topK; rank++) {
                int expert = routing.expert(t, rank);
                selected[rank] = ofLogits ? all[t * experts + expert] : scores[expert];
                dSlots[rank] = config.scale() * dWeights[t * topK + rank];
            }
            config.renormalization().scoreGradients(selected, dSlots, dSelected);
            if (ofLogits) {
                for (int rank = 0; rank < topK; rank++) {
                    dLogits[t * experts + routing.expert(t, rank)] += dSelected[rank];
                }
                continue;
            }
            for (int rank = 0; rank < topK; rank++) {
                dScores[routing.expert(t, rank)] = dSelected[rank];
            }
            config.score().logitGradients(all, t, scores, dScores, dLogits);
            for (int rank = 0; rank < topK; rank++) {
                dScores[routing.expert(t, rank)] = 0;
            }
        }
    }
}
