package org.moe4j.router.loss;

import java.util.List;
import java.util.OptionalDouble;
import org.moe4j.core.internal.Require;

/**
 * {@code coefficient / n · Σ_t lse_t²} with {@code lse_t = ln Σ_e e^(l_te)}, over the n valid tokens of a layer: it keeps logits small.
 * Of several layers it is the sum; the value of each alone is the vector that MegaBlocks returns.
 *
 * <p>A divisor takes the place of n: the tokens of the whole step, where a trainer adds up parts of it.
 *
 * <p>Gradient: {@code dl_te = 2 · coefficient / n · lse_t · softmax(l_t)_e}. It is 0 where the powers of a token's logits add up to 1, as
 * when they all are {@code −ln E}, and not where they all are 0.
 *
 * <p>Who: ST-MoE and flaxformer the mean; Megatron-Core ({@code moe_utils.py}, {@code z_loss_func}) divides by max(n, 1); OLMo-core
 * ({@code nn/moe/loss.py}) and Mesh-TensorFlow by a divisor; MegaBlocks ({@code router.py}) one value per layer.
 *
 * @param coefficient at least 0
 * @param divisor above 0; empty: the number of valid tokens
 * @see <a href="https://arxiv.org/abs/2202.08906">Zoph et al., ST-MoE, Equation 5</a>
 */
public record ZLoss(double coefficient, OptionalDouble divisor) implements RouterLoss {
    /**
     * Checks the numbers.
     *
     * @param coefficient at least 0
     * @param divisor above 0; empty: the number of valid tokens
     * @throws IllegalArgumentException for a coefficient that is below 0 or not finite, or a divisor that is not finite and above
     *     0
     */
    public ZLoss {
        TokenGroups.coefficient(coefficient);
        requireDivisor(divisor);
    }

    /**
     * The mean over the valid tokens.
     *
     * @param coefficient at least 0
     */
    public ZLoss(double coefficient) {
        this(coefficient, OptionalDouble.empty());
    }

    static void requireDivisor(OptionalDouble divisor) {
        divisor.ifPresent(given -> {
            if (!(given > 0) || Double.isInfinite(given)) {
                throw Require.expected("divisor", "a finite number above 0", given);
            }
        });
    }

    @Override
    public String name() {
        return "z-loss";
    }

    @Override
    public double value(List<? extends RoutedTokens> layers) {
        double value = 0;
        for (RoutedTokens layer : layers) {
            value += value(squares(layer), TokenGroups.batch(layer).count());
        }
        return value;
    }

    /** {@code Σ_t lse_t²} over the valid tokens. */
    static double squares(RoutedTokens layer) {
        TokenGroups rows = TokenGroups.batch(layer);
        double[] logits = layer.logits();
        int experts = layer.routing().experts();
        double sum = 0;
        for (int t = 0; t < layer.routing().tokens(); t++) {
            if (rows.valid(t)) {
                double lse = Softmax.logSumExp(logits, t * experts, experts);
                sum += lse * lse;
            }
        }
        return sum;
    }

    /** The value of tokens whose squares are summed. */
    double value(double squares, long valid) {
        return coefficient * squares / divisor(valid);
    }

    @Override
    public void addGradients(List<? extends RoutedTokens> layers, List<LogitGradients> into) {
        TokenGroups.requireOnePerLayer(into, layers);
        for (int i = 0; i < layers.size(); i++) {
            addGradients(layers.get(i), into.get(i).logits());
        }
    }

    private void addGradients(RoutedTokens layer, double[] dLogits) {
        TokenGroups rows = TokenGroups.batch(layer);
        double factor = 2 * coefficient / divisor(rows.count());
        double[] logits = layer.logits();
        int experts = layer.routing().experts();
        double[] softmax = new double[experts];
        for (int t = 0; t < layer.routing().tokens(); t++) {
            if (rows.valid(t)) {
                double lse = Softmax.row(logits, t * experts, experts, softmax, 0);
                for (int e = 0; e < experts; e++) {
                    dLogits[t * experts + e] += factor * lse * softmax[e];
                }
            }
        }
    }

    private double divisor(long valid) {
        return divisor.orElse((double) Math.max(1, valid)); // exact below 2^53
    }
}
