package org.moe4j.router.loss;

import java.util.List;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;

/**
 * {@code coefficient · mean_t lse_t²} with {@code lse_t = ln Σ_e e^(l_te)}, over the valid tokens of all layers: it keeps logits small.
 *
 * <p>Gradient: {@code dl_te = 2 · coefficient / n · lse_t · softmax(l_t)_e}, n being the number of valid tokens.
 *
 * @param coefficient at least 0
 * @see <a href="https://arxiv.org/abs/2202.08906">Zoph et al., ST-MoE, Equation 5</a>
 */
public record ZLoss(double coefficient) implements RouterLoss {
    /**
     * Checks the coefficient.
     *
     * @param coefficient at least 0
     */
    public ZLoss {
        if (!(coefficient >= 0) || Double.isInfinite(coefficient)) {
            throw Require.expected("coefficient", "a finite number of at least 0", coefficient);
        }
    }

    @Override
    public double value(List<? extends RoutedTokens> layers) {
        double sum = 0;
        for (RoutedTokens layer : layers) {
            double[] logits = layer.logits();
            int experts = layer.routing().experts();
            for (int t = 0; t < layer.routing().tokens(); t++) {
                if (isValid(layer, t)) {
                    double lse = logSumExp(logits, t, experts);
                    sum += lse * lse;
                }
            }
        }
        return coefficient * sum / Math.max(1, valid(layers));
    }

    @Override
    public void addGradients(List<? extends RoutedTokens> layers, List<LogitGradients> into) {
        double factor = 2 * coefficient / Math.max(1, valid(layers));
        for (int i = 0; i < layers.size(); i++) {
            RoutedTokens layer = layers.get(i);
            double[] logits = layer.logits();
            double[] dLogits = into.get(i).logits();
            Routing routing = layer.routing();
            for (int t = 0; t < routing.tokens(); t++) {
                if (isValid(layer, t)) {
                    double lse = logSumExp(logits, t, routing.experts());
                    for (int at = t * routing.experts(); at < (t + 1) * routing.experts(); at++) {
                        dLogits[at] += factor * lse * StrictMath.exp(logits[at] - lse);
                    }
                }
            }
        }
    }

    private static boolean isValid(RoutedTokens layer, int token) {
        return layer.context().valid().map(mask -> mask.valid(token)).orElse(true);
    }

    private static long valid(List<? extends RoutedTokens> layers) {
        long count = 0;
        for (RoutedTokens layer : layers) {
            count += layer.context()
                    .valid()
                    .map(mask -> mask.count())
                    .orElse(layer.routing().tokens());
        }
        return count;
    }

    private static double logSumExp(double[] logits, int token, int experts) {
        double max = Double.NEGATIVE_INFINITY;
        for (int at = token * experts; at < (token + 1) * experts; at++) {
            max = Math.max(max, logits[at]);
        }
        double sum = 0;
        for (int at = token * experts; at < (token + 1) * experts; at++) {
            sum += StrictMath.exp(logits[at] - max);
        }
        return max + StrictMath.log(sum);
    }
}
