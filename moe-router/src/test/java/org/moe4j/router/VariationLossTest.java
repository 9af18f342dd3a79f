package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.moe4j.core.internal.NormalQuantile;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.router.loss.LogitGradients;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.VariationLoss;

/** Loads of noisy routers against their definition; without noise they are in {@link LossDefinitionsTest}. */
class VariationLossTest {
    private static final int TOKENS = 5;

    private static NoisyTokens draw(long seed, int experts, int topK) {
        SplittableRandom random = new SplittableRandom(seed);
        int numbers = TOKENS * experts;
        return new NoisyTokens(
                experts,
                topK,
                new RoutingContext(
                        Optional.of(RowMask.of(new boolean[] {true, true, false, true, true})),
                        List.of(2, 0, 3),
                        OptionalLong.empty()),
                random.doubles(numbers, -2, 2).toArray(),
                random.doubles(numbers, -2, 2).toArray(),
                random.doubles(numbers, 0.5, 1.5).toArray());
    }

    private static double distribution(double x) {
        return x <= 0 ? NormalQuantile.distribution(x) : 1 - NormalQuantile.distribution(-x);
    }

    /** tensor2tensor's _prob_in_top_k: the (K+1)-th noisy value for who is above it, the K-th for the others. */
    private static double shazeer(NoisyTokens tokens) {
        double[] load = new double[tokens.experts()];
        for (int t : new int[] {0, 1, 3, 4}) {
            int[] order = tokens.order(t);
            for (int e = 0; e < load.length; e++) {
                int expert = e;
                boolean isIn = IntStream.of(order).limit(tokens.topK()).anyMatch(i -> i == expert);
                int above = order[isIn ? tokens.topK() : tokens.topK() - 1];
                load[e] += probability(tokens, t, e, above);
            }
        }
        return LossDefinitions.variation(load, 1e-10);
    }

    /** V-MoE's: the K-th noisy value for all, each group of tokens for itself. */
    private static double vMoe(NoisyTokens tokens) {
        double sum = 0;
        for (int[] group : new int[][] {{0, 1}, {3, 4}}) {
            double[] load = new double[tokens.experts()];
            for (int t : group) {
                for (int e = 0; e < load.length; e++) {
                    load[e] += probability(tokens, t, e, tokens.order(t)[tokens.topK() - 1]) / group.length;
                }
            }
            sum += LossDefinitions.variation(load, 0);
        }
        return sum / 2;
    }

    private static double probability(NoisyTokens tokens, int token, int expert, int above) {
        int at = token * tokens.experts() + expert;
        double away = tokens.clean()[at] - tokens.noisy()[token * tokens.experts() + above];
        return distribution(away / tokens.deviation()[at]);
    }

    @Test
    void loadIsTheProbabilityOfBeingSelected() {
        for (long seed = 0; seed < 40; seed++) {
            int experts = 2 + (int) seed % 4;
            NoisyTokens tokens = draw(seed, experts, 1 + (int) seed % (experts - 1));
            assertThat(VariationLoss.shazeerLoad(0.5).value(List.of(tokens)))
                    .isCloseTo(0.5 * shazeer(tokens), within(1e-13));
            assertThat(VariationLoss.vMoeLoad(0.5).value(List.of(tokens))).isCloseTo(0.5 * vMoe(tokens), within(1e-13));
        }
    }

    @Test
    void loadHasGradientsOfLogitsCleanLogitsAndDeviations() {
        for (long seed = 0; seed < 8; seed++) {
            NoisyTokens tokens = draw(seed, 4, 1 + (int) seed % 3);
            checkGradients(tokens, VariationLoss.shazeerLoad(0.5), at -> 0.5 * shazeer(at));
            checkGradients(tokens, VariationLoss.vMoeLoad(0.5), at -> 0.5 * vMoe(at));
        }
    }

    private static void checkGradients(NoisyTokens n, RouterLoss loss, ToDoubleFunction<NoisyTokens> definition) {
        double[] dNoisy = FiniteDifferences.gradient(
                at -> definition.applyAsDouble(
                        new NoisyTokens(n.experts(), n.topK(), n.context(), at, n.clean(), n.deviation())),
                n.noisy());
        double[] dClean = FiniteDifferences.gradient(
                at -> definition.applyAsDouble(
                        new NoisyTokens(n.experts(), n.topK(), n.context(), n.noisy(), at, n.deviation())),
                n.clean());
        double[] dDeviation = FiniteDifferences.gradient(
                at -> definition.applyAsDouble(
                        new NoisyTokens(n.experts(), n.topK(), n.context(), n.noisy(), n.clean(), at)),
                n.deviation());
        LogitGradients into = LogitGradients.zeros(n);
        loss.addGradients(List.of(n), List.of(into));
        double norm = FiniteDifferences.norm(dNoisy, dClean, dDeviation);
        assertThat(FiniteDifferences.worst(into.logits(), dNoisy, norm)).isLessThanOrEqualTo(1);
        assertThat(FiniteDifferences.worst(into.cleanLogits(), dClean, norm)).isLessThanOrEqualTo(1);
        assertThat(FiniteDifferences.worst(into.deviations(), dDeviation, norm)).isLessThanOrEqualTo(1);
    }

    @Test
    void withAllExpertsSelectedShazeersLoadIsACountWithoutGradient() {
        NoisyTokens tokens = draw(3, 3, 3);
        assertThat(VariationLoss.shazeerLoad(1).value(List.of(tokens))).isZero();
        LogitGradients into = LogitGradients.zeros(tokens);
        VariationLoss.shazeerLoad(1).addGradients(List.of(tokens), List.of(into));
        assertThat(into.logits()).containsOnly(0);
        assertThat(into.cleanLogits()).containsOnly(0);
        assertThat(into.deviations()).containsOnly(0);
        assertThat(VariationLoss.vMoeLoad(1).value(List.of(tokens))).isCloseTo(vMoe(tokens), within(1e-13));
    }

    /** V-MoE's importance is of the logits before noise, and so is its gradient. */
    @Test
    void importanceOfCleanLogitsReadsNoNoise() {
        NoisyTokens n = draw(5, 4, 2);
        VariationLoss loss = VariationLoss.vMoeImportance(2);
        LogitGradients into = LogitGradients.zeros(n);
        loss.addGradients(List.of(n), List.of(into));
        assertThat(into.logits()).containsOnly(0);
        double[] expected = FiniteDifferences.gradient(at -> 2 * importance(at), n.clean());
        assertThat(loss.value(List.of(n))).isCloseTo(2 * importance(n.clean()), within(1e-14));
        assertThat(FiniteDifferences.worst(into.cleanLogits(), expected, FiniteDifferences.norm(expected)))
                .isLessThanOrEqualTo(1);
    }

    private static double importance(double[] clean) {
        double sum = 0;
        for (int[] group : new int[][] {{0, 1}, {3, 4}}) {
            double[] q = new double[4];
            for (int t : group) {
                double[] p = TokenwiseRouting.softmax(Arrays.copyOfRange(clean, t * 4, t * 4 + 4));
                Arrays.setAll(q, e -> q[e] + p[e]);
            }
            sum += LossDefinitions.variation(q, 0);
        }
        return sum / 2;
    }

    @Test
    void numbersAreChecked() {
        assertThatThrownBy(() -> new VariationLoss("x", 1, VariationLoss.Quantity.LOAD, false, -1))
                .hasMessage("epsilon: expected a finite number of at least 0 but was -1.0");
        assertThatThrownBy(() -> VariationLoss.vMoeLoad(Double.NaN))
                .hasMessage("coefficient: expected a finite number of at least 0 but was NaN");
    }
}
