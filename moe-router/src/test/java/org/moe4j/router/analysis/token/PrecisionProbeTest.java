package org.moe4j.router.analysis.token;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.math.BigDecimal;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKRouter;
import org.moe4j.router.analysis.token.PrecisionProbe.Change;
import org.moe4j.router.analysis.token.PrecisionProbe.Precision;

class PrecisionProbeTest {
    private static final RouterConfig ONE = RouterConfig.topK(1, 1);

    private static Change change(PrecisionProbe probe, Precision of, Precision than) {
        return probe.changes().stream()
                .filter(change -> change.of() == of && change.than() == than)
                .findFirst()
                .orElseThrow();
    }

    private static double halfDifference(double weight) {
        PrecisionProbe probe = PrecisionProbe.of(ONE, new double[] {weight}).add(new double[] {1});
        return change(probe, Precision.BFLOAT16, Precision.DOUBLE).largestLogitChange();
    }

    /** Between 1 and 2 bfloat16 has multiples of 1/128: 1.8984 is stored as 243/128 (LLM Architecture Refresh 5, §2). */
    @Test
    void bfloat16HasSevenBitsBehindThePoint() {
        assertThat(halfDifference(1.8984)).isEqualTo(Math.abs(243 / 128.0 - 1.8984));
        assertThat(halfDifference(243 / 128.0)).isZero();
        assertThat(halfDifference(1 + 1 / 256.0))
                .as("a tie goes to the even one, 1")
                .isEqualTo(1 / 256.0);
        assertThat(halfDifference(1 + 3 / 256.0)).as("and here to 1 + 2/128").isEqualTo(1 / 256.0);
        assertThat(halfDifference(-1.8984)).isEqualTo(Math.abs(243 / 128.0 - 1.8984));
        assertThat(halfDifference(0)).isZero();
    }

    /** The two logits become the same number, and equal ones go to the lower index. */
    @Test
    void aChoiceThatRoundingMakesIsCounted() {
        double[] weight = {1.001, 1.002, -5};
        PrecisionProbe probe =
                PrecisionProbe.of(RouterConfig.topK(3, 1), weight).add(new double[] {1, -1});
        Change half = change(probe, Precision.BFLOAT16, Precision.FLOAT32);
        assertThat(half.tokens()).isEqualTo(2);
        assertThat(half.sameExperts()).isEqualTo(1);
        assertThat(change(probe, Precision.FLOAT32, Precision.DOUBLE).sameExperts())
                .isEqualTo(2);
        double[] close = {1, 1 + 1e-9};
        PrecisionProbe single =
                PrecisionProbe.of(RouterConfig.topK(2, 1), close).add(new double[] {1});
        assertThat(change(single, Precision.FLOAT32, Precision.DOUBLE).sameExperts())
                .isZero();
    }

    /** The nearest of the two neighbours with 8 significant bits; of equally near ones the one with an even last bit. */
    private static float bfloat16(double number) {
        float given = (float) number;
        float below = Float.intBitsToFloat(Float.floatToIntBits(given) & 0xffff_0000);
        float above = Float.intBitsToFloat((Float.floatToIntBits(given) & 0xffff_0000) + 0x1_0000);
        BigDecimal value = new BigDecimal(given);
        int compared = value.subtract(new BigDecimal(below))
                .abs()
                .compareTo(value.subtract(new BigDecimal(above)).abs());
        boolean isEven = (Float.floatToIntBits(below) >>> 16) % 2 == 0;
        return compared < 0 || (compared == 0 && isEven) ? below : above;
    }

    private static double[] naive(Precision precision, double[] x, double[] w, double[] bias, int width) {
        double[] logits = new double[bias.length];
        for (int e = 0; e < logits.length; e++) {
            double exact = 0;
            float single = 0;
            for (int i = 0; i < width; i++) {
                exact += w[e * width + i] * x[i];
                single += precision == Precision.BFLOAT16
                        ? bfloat16(w[e * width + i]) * bfloat16(x[i])
                        : (float) w[e * width + i] * (float) x[i];
            }
            logits[e] = switch (precision) {
                case DOUBLE -> exact + bias[e];
                case FLOAT32 -> single + (float) bias[e];
                case BFLOAT16 -> bfloat16(single + bfloat16(bias[e]));
            };
        }
        return logits;
    }

    private static Set<Integer> best(double[] choice, int topK) {
        return new HashSet<>(IntStream.range(0, choice.length)
                .boxed()
                .sorted((a, b) -> Double.compare(choice[b], choice[a]))
                .limit(topK)
                .toList());
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void blocksGiveWhatLoopsGiveOfAllTokens(long seed) {
        int width = 19;
        int experts = 12;
        int tokens = 60;
        SplittableRandom random = new SplittableRandom(seed);
        double[] x = random.doubles((long) tokens * width, -1, 1).toArray();
        double[] w = random.doubles((long) experts * width, -1, 1).toArray();
        double[] logitBias = random.doubles(experts, -1, 1).toArray();
        double[] bias = random.doubles(experts, -0.3, 0.3).toArray();
        RouterConfig config = RouterConfig.topK(experts, 4)
                .withScore(new ScoreFunction.Sigmoid())
                .withRenormalization(new Renormalization.Sum())
                .withLogitBias(true)
                .withSelectionBias(true);
        ReferenceBackend backend = ReferenceBackend.instance();
        PrecisionProbe probe;
        try (TopKRouter plain = TopKRouter.of(
                        config, backend.matrix(experts, width, w), backend.matrix(1, experts, logitBias));
                TopKRouter router = plain.withSelectionBias(SelectionBias.of(bias))) {
            probe = PrecisionProbe.of(router);
        }
        Matrix all = backend.matrix(tokens, width, x);
        probe.add(backend.matrix(0, width, new double[0]));
        probe.add(Arrays.copyOf(x, 7 * width));
        probe.add(backend.gatherRows(all, IntStream.range(7, tokens).toArray()));
        for (Change change : probe.changes()) {
            double logit = 0;
            double score = 0;
            int same = 0;
            for (int t = 0; t < tokens; t++) {
                double[] row = Arrays.copyOfRange(x, t * width, (t + 1) * width);
                double[] one = naive(change.of(), row, w, logitBias, width);
                double[] two = naive(change.than(), row, w, logitBias, width);
                double[] first = new double[experts];
                double[] second = new double[experts];
                for (int e = 0; e < experts; e++) {
                    logit = Math.max(logit, Math.abs(one[e] - two[e]));
                    first[e] = 1 / (1 + Math.exp(-one[e]));
                    second[e] = 1 / (1 + Math.exp(-two[e]));
                    score = Math.max(score, Math.abs(first[e] - second[e]));
                    first[e] += bias[e];
                    second[e] += bias[e];
                }
                same += best(first, 4).equals(best(second, 4)) ? 1 : 0;
            }
            assertThat(change.largestLogitChange()).isEqualTo(logit).isPositive();
            assertThat(change.largestScoreChange()).isCloseTo(score, within(1e-15));
            assertThat(change.sameExperts()).isEqualTo(same);
            assertThat(change.tokens()).isEqualTo(tokens);
        }
        assertThat(probe.changes())
                .extracting(Change::of)
                .containsExactly(Precision.BFLOAT16, Precision.BFLOAT16, Precision.FLOAT32);
    }

    @Test
    void withoutTokensNothingChanges() {
        List<Change> changes = PrecisionProbe.of(ONE, new double[] {1}).changes();
        assertThat(changes).allMatch(change -> change.tokens() == 0 && change.largestLogitChange() == 0);
    }

    @Test
    void whatDoesNotFitIsRefused() {
        assertThatThrownBy(() -> PrecisionProbe.of(ONE.withLogitBias(true), new double[1]))
                .hasMessageStartingWith("config: expected a rule without biases")
                .hasMessageEndingWith("take the probe of a router");
        RouterConfig two = RouterConfig.topK(2, 1);
        assertThatThrownBy(() -> PrecisionProbe.of(two, new double[3]))
                .hasMessage("weight: expected a multiple of 2 numbers (E x D) but was 3");
        assertThatThrownBy(() -> PrecisionProbe.of(two.withSelection(new ExpertSelection.Sinkhorn()), new double[4]))
                .hasMessageStartingWith("config.selection: ");
        PrecisionProbe probe = PrecisionProbe.of(two, new double[4]);
        assertThatThrownBy(() -> probe.add(new double[3]))
                .hasMessage("block: expected a multiple of 2 numbers (hidden size) but was 3");
        assertThatThrownBy(() -> probe.add(ReferenceBackend.instance().matrix(1, 3, new double[3])))
                .hasMessage("block: expected 2 columns (hidden size of the router) but was 3");
        assertThatThrownBy(() -> probe.add(new double[] {Double.NaN, 1})).isInstanceOf(ArithmeticException.class);
    }
}
