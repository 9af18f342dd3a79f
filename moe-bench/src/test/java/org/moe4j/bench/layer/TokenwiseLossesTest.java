package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.layer.RouterWords.Weighing;
import org.moe4j.bench.layer.TokenwiseLosses.Seen;
import org.moe4j.bench.layer.TokenwiseRouter.Choice;

/** The definition of the losses, against numbers that were worked out by hand. */
class TokenwiseLossesTest {
    private static final double LN_3 = Math.log(3); // softmax of (ln 3, 0): 3/4 and 1/4

    private static RouterWords router(int topK) {
        return new RouterWords(
                2, topK, "softmax", 0, Optional.empty(), List.of(), false, Weighing.of("none"), 1, "backend");
    }

    /** Two experts: two tokens of a sequence go to the first, and one of another to the second. */
    private static Seen seen(List<Integer> valid, List<double[]> deviations) {
        List<double[]> logits = List.of(new double[] {LN_3, 0}, new double[] {LN_3, 0}, new double[] {0, LN_3});
        return new Seen(
                router(1),
                List.of(choice(0), choice(0), choice(1)),
                logits,
                logits,
                deviations,
                List.of(List.of(0, 1), List.of(2)),
                valid);
    }

    private static Choice choice(int expert) {
        return new Choice(new int[] {expert}, new double[] {0.75});
    }

    private static double loss(String formula, Seen seen) {
        return TokenwiseLosses.value(List.of(new LossWords(formula, 2)), seen) / 2;
    }

    @Test
    void balanceOfTheBatchAndOfSequences() {
        Seen seen = seen(List.of(0, 1, 2), List.of());
        double batch = 2 * (2 / 3.0 * 7 / 12 + 1 / 3.0 * 5 / 12); // f = (2/3, 1/3), P = (7/12, 5/12)
        for (String formula : List.of("transformers", "megatron", "olmo-core", "deepseek-batch")) {
            assertThat(loss(formula, seen)).as(formula).isCloseTo(batch, within(1e-15));
        }
        for (String formula : List.of("switch", "flaxformer", "deepseek-sequence", "deepseek-v3")) {
            assertThat(loss(formula, seen)).as(formula).isCloseTo(1.5, within(1e-15)); // 2·3/4 in both
        }
        assertThat(loss("olmo-core-instance", seen)).isCloseTo(1.5, within(1e-15));
        // 2/S²·c·Σu with S = 3/2: 2·2·(2·3/4) and 2·1·3/4, by 9/4
        assertThat(loss("megatron-sequence", seen)).isCloseTo((6 + 1.5) / 2 / 2.25, within(1e-15));
    }

    @Test
    void paddingDoesNotCount() {
        Seen seen = seen(List.of(0, 1), List.of());
        for (String formula : List.of("switch", "megatron", "deepseek-batch")) {
            assertThat(loss(formula, seen)).as(formula).isCloseTo(1.5, within(1e-15));
        }
        // two sequences of mean length 1, one of them all padding: 2·2·(2·3/4) by 2
        assertThat(loss("megatron-sequence", seen)).isCloseTo(3, within(1e-15));
        assertThat(loss("flaxformer", seen))
                .isCloseTo(1.5 / 2, within(1e-15)); // the sequence without tokens is one of two
        assertThat(loss("z-loss", seen)).isCloseTo(Math.log(4) * Math.log(4), within(1e-15));
        assertThat(loss("z-loss", seen(List.of(), List.of()))).isZero();
    }

    @Test
    void variationOfGatesAndLoads() {
        Seen quiet = seen(List.of(0, 1, 2), List.of());
        // gates (3/2, 3/4) and counts (2, 1): mean 3 and variance 1 in units of their own
        assertThat(loss("shazeer-importance", quiet)).isCloseTo(1 / 9.0, within(1e-9));
        assertThat(loss("shazeer-load", quiet)).isCloseTo(1 / 9.0, within(1e-9));
        // (3/2, 1/2) and (1/4, 3/4), each of two experts: (1/2)² by 1 and (1/4)² by (1/2)²
        assertThat(loss("vmoe-importance", quiet)).isCloseTo(0.25, within(1e-15));
        double[] deviations = {LN_3, LN_3};
        Seen noisy = seen(List.of(0, 1, 2), List.of(deviations, deviations, deviations));
        // who is in has to beat 0 from ln 3, who is out ln 3 from 0: Φ(1) and Φ(−1)
        double in = 0.841344746068543;
        double variation = Math.pow(2 * in - 1, 2) / 9;
        assertThat(loss("shazeer-load", noisy)).isCloseTo(variation, within(1e-9));
        // V-MoE compares the one that is in with itself: Φ(0) = 1/2
        double out = 1 - in;
        assertThat(loss("vmoe-load", noisy)).isCloseTo(Math.pow((0.5 - out) / (0.5 + out), 2), within(1e-12));
    }
}
