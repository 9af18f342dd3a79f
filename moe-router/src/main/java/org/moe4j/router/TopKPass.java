package org.moe4j.router;

import java.util.List;
import java.util.Optional;
import java.util.Set;
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
    private final LogitsPass run;
    private final RoutedLogits routed;
    private final List<RouterLoss> losses;

    TopKPass(
            RouterConfig config,
            LogitsPass run,
            Optional<SelectionBias> selectionBias,
            Choice choice,
            RoutingContext context,
            List<RouterLoss> losses) {
        this.run = run;
        this.losses = losses;
        routed = new RoutedLogits(config, selectionBias, run.logits(), choice, context);
    }

    @Override
    public Routing routing() {
        return routed.routing();
    }

    @Override
    public int topK() {
        return routed.topK();
    }

    @Override
    public RoutingContext context() {
        return routed.context();
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
        return routed.logits();
    }

    @Override
    public double[] cleanLogits() {
        return run.cleanLogits();
    }

    @Override
    public Optional<double[]> noiseDeviations() {
        return run.deviations();
    }

    @Override
    public double[] scores() {
        return routed.scores();
    }

    @Override
    public double[] logitGradients(double[] dScores) {
        return routed.logitGradients(dScores);
    }

    @Override
    public double[] logitGradientsOfWeights(double[] dWeights) {
        return routed.logitGradientsOfWeights(dWeights);
    }

    /**
     * What the experts were ranked by: scores, or logits where the renormalisation takes logits, plus the selection bias, with the fill
     * for experts of closed groups.
     *
     * @return T·E numbers, token after token; a copy
     */
    public double[] choiceScores() {
        return routed.choiceScores();
    }

    /**
     * The selection bias by which every expert would get {@code T·K/E} of these tokens, if their other experts stayed as attractive as
     * they were: with {@code v} the choice scores without bias, {@code α_t} the (K+1)-th largest of {@code v_t + b}, the value is minus the
     * number of rank {@code T·K/E} (counted from 0, largest first) among {@code v_te − α_t}.
     *
     * <p>Megatron-Core's {@code qb_dual_update} ({@code moe_utils.py}), with the sign of a bias that is added. As there, a mask is refused, and so are
     * T·K that E does not divide.
     *
     * @return for {@link SelectionBias#updatedByQuantiles}
     * @throws IllegalArgumentException for a router without selection bias, another selection than {@link ExpertSelection.PlainTopK},
     *     K = E, no tokens, T·K that E does not divide, or a mask
     */
    public SelectionBias quantileBias() {
        return routed.quantileBias();
    }

    /**
     * {@inheritDoc}
     *
     * <p>Undoes scale, renormalisation and selection, then the score function; with the gradient {@code dL} of the logits,
     * {@code dX = dL · W_r} and {@code dW_r = dLᵀ · X}; the bias on the logits gets the sum of the rows of {@code dL}. Noise and selection are held
     * as they were drawn; what noise adds to these gradients is said at {@link RouterNoise}. A selection bias has no gradient, nor has an
     * expert that a token does not go to beyond its part in the weights of the others.
     *
     * @param dWeights one per slot of the routing, T·K numbers where every token has K experts
     * @param dLogits T·E numbers or none
     * @return input (T×D), {@code weight} (E×D) and, where the router has them, {@code bias} (1×E) and {@code noise} (E×D), all the caller's
     */
    @Override
    public Gradients backward(double[] dWeights, double[] dLogits) {
        Optional<LogitGradients> ofLosses = lossGradients();
        return run.backward(allLogitGradients(dWeights, dLogits, ofLosses), ofLosses);
    }

    @Override
    public Matrix backward(double[] dWeights, double[] dLogits, Set<String> wanted, Parameters into) {
        Optional<LogitGradients> ofLosses = lossGradients();
        return run.backward(allLogitGradients(dWeights, dLogits, ofLosses), ofLosses, wanted, into);
    }

    /** Through weights and losses, and what the caller gives. */
    private double[] allLogitGradients(double[] dWeights, double[] dLogits, Optional<LogitGradients> ofLosses) {
        double[] all = logitGradientsOfWeights(dWeights);
        if (dLogits.length != 0) {
            Require.count("dLogits", dLogits.length, all.length, "numbers (T x E)");
        }
        for (int i = 0; i < dLogits.length; i++) {
            all[i] += dLogits[i];
        }
        ofLosses.ifPresent(losses -> {
            for (int i = 0; i < all.length; i++) {
                all[i] += losses.logits()[i];
            }
        });
        return all;
    }

    private Optional<LogitGradients> lossGradients() {
        if (losses.isEmpty()) {
            return Optional.empty();
        }
        LogitGradients sum = LogitGradients.zeros(this);
        losses.forEach(loss -> loss.addGradients(List.of(this), List.of(sum)));
        return Optional.of(sum);
    }
}
