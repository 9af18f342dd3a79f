package org.moe4j.router.analysis.synthetic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExpertPopularityTest {
    /** Probabilities are multiples of 2^-32, each within one of them. */
    private static final double ROUNDED = 1e-8;

    private static double[] inclusions(ExpertPopularity popularity) {
        return IntStream.range(0, popularity.experts())
                .mapToDouble(popularity::inclusion)
                .toArray();
    }

    private static double variation(double[] values) {
        double mean = Arrays.stream(values).average().orElseThrow();
        double squares = Arrays.stream(values).map(v -> v * v).average().orElseThrow();
        return Math.sqrt(squares - mean * mean) / mean;
    }

    private static double distance(ExpertPopularity a, ExpertPopularity b) {
        return IntStream.range(0, a.experts())
                        .mapToDouble(e -> Math.abs(a.inclusion(e) - b.inclusion(e)) / a.topK())
                        .sum()
                / 2;
    }

    private static void assertProbabilities(ExpertPopularity popularity) {
        double[] all = inclusions(popularity);
        assertThat(Arrays.stream(all).allMatch(p -> p >= 0 && p <= 1)).isTrue();
        assertThat(Arrays.stream(all).sum()).isEqualTo(popularity.topK()); // exact: multiples of 2^-32
    }

    /** The coefficients of the article's section 8, and what else there can be: the largest is that of K experts alone. */
    @ParameterizedTest
    @CsvSource({
        "64,8,0.88",
        "64,8,0.89",
        "64,8,1.07",
        "64,8,0",
        "64,8,2.6457513",
        "256,8,5.5",
        "256,8,0.01",
        "7,3,1.1",
        "2,1,1",
        "2,1,0.5",
        "1,1,0",
        "9,9,0",
        "5,4,0.4",
        "1000,1,31.6",
        "128,8,3.8729833"
    })
    void theExpectedLoadHasTheVariation(int experts, int topK, double variation) {
        ExpertPopularity popularity = ExpertPopularity.ofVariation(experts, topK, variation);
        assertThat(popularity.experts()).isEqualTo(experts);
        assertThat(popularity.topK()).isEqualTo(topK);
        assertProbabilities(popularity);
        assertThat(variation(inclusions(popularity))).isCloseTo(variation, within(2e-7)); // a root of a difference
        assertThat(popularity.variation()).isCloseTo(variation, within(ROUNDED * 100));
        for (int e = 1; e < experts; e++) {
            assertThat(popularity.inclusion(e)).isLessThanOrEqualTo(popularity.inclusion(e - 1) + ROUNDED);
        }
    }

    @Test
    void theLargestVariationIsThatOfKExpertsAlone() {
        ExpertPopularity alone = ExpertPopularity.ofVariation(12, 3, Math.sqrt(3));
        assertThat(inclusions(alone)).containsExactly(1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        assertThat(alone.share(0)).isEqualTo(1.0 / 3);
        assertThatThrownBy(() -> ExpertPopularity.ofVariation(12, 3, 1.74))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("variation: expected 0..1.7320508075688772 (sqrt(E/K - 1)) but was 1.74");
        assertThatThrownBy(() -> ExpertPopularity.ofVariation(12, 12, 0.1)).hasMessageContaining("expected 0..0.0");
        assertThatThrownBy(() -> ExpertPopularity.ofVariation(12, 3, Double.NaN))
                .hasMessageContaining("but was NaN");
    }

    @Test
    void evenExpertsAreAlike() {
        assertThat(inclusions(ExpertPopularity.even(64, 8))).containsOnly(0.125);
        assertProbabilities(ExpertPopularity.even(7, 3)); // 3/7 is no multiple: some have one more
    }

    @ParameterizedTest
    @CsvSource({
        "64,8,1.07,0.554,3",
        "64,8,1.07,0.216,2",
        "64,8,0.88,0.5,2",
        "64,8,1.07,0,3",
        "60,4,1.2,0.4,5",
        "64,8,0.2,0.05,2",
        "8,2,0.5,0.3,8",
        "2,1,0.5,0.5,2",
        "7,3,0.6,0.2,3"
    })
    void kindsOfTextDifferByTheDistance(int experts, int topK, double variation, double distance, int kinds) {
        List<ExpertPopularity> all = ExpertPopularity.ofDistance(experts, topK, variation, distance, kinds);
        assertThat(all).hasSize(kinds);
        all.forEach(ExpertPopularityTest::assertProbabilities);
        assertThat(all.stream()
                        .mapToDouble(p -> variation(inclusions(p)))
                        .average()
                        .orElseThrow())
                .isCloseTo(variation, within(1e-6));
        double sum = 0;
        for (int a = 0; a < kinds; a++) {
            for (int b = 0; b < a; b++) {
                sum += distance(all.get(a), all.get(b));
                assertThat(all.get(a).distance(all.get(b)))
                        .isCloseTo(distance(all.get(a), all.get(b)), within(ROUNDED));
            }
        }
        assertThat(2 * sum / (kinds * (kinds - 1))).isCloseTo(distance, within(1e-6));
    }

    /** Where the kinds divide the experts, all have the same probabilities in another order. */
    @Test
    void eachKindHasTheVariationWhereTheyDivideTheExperts() {
        for (ExpertPopularity kind : ExpertPopularity.ofDistance(64, 8, 1.0, 0.4, 4)) {
            assertThat(variation(inclusions(kind))).isCloseTo(1.0, within(1e-6));
        }
    }

    @Test
    void whatCannotBeIsRefused() {
        assertThatThrownBy(() -> ExpertPopularity.ofDistance(64, 8, 0.2, 0.5, 2))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageMatching(
                        "distance: expected 0\\.\\.0\\.1\\d* \\(with this variation and so many kinds\\) but was 0.5");
        assertThatThrownBy(() -> ExpertPopularity.ofDistance(64, 8, 2.6, 0, 3))
                .hasMessageMatching(
                        "variation: expected at most 2\\.\\d* \\(with this distance and so many kinds\\) but was 2.6");
        assertThatThrownBy(() -> ExpertPopularity.ofDistance(64, 8, 1, 0.1, 1))
                .hasMessage("kinds: expected 2..64 (experts) but was 1");
        assertThatThrownBy(() -> ExpertPopularity.ofDistance(1024, 8, 1, 0.1, 17))
                .hasMessage("kinds: expected at most 16 (so many kinds of 1024 experts) but was 17");
        assertThatThrownBy(() -> ExpertPopularity.of(1, 0.5, 0.6))
                .hasMessage("inclusion: expected a sum of 1 (topK) but was 1.1");
        assertThatThrownBy(() -> ExpertPopularity.of(1, -0.5, 1.5))
                .hasMessage("inclusion: expected probabilities 0..1 but was -0.5");
        assertThatThrownBy(() -> ExpertPopularity.of(3, 1, 1)).hasMessage("topK: expected 1..2 (experts) but was 3");
        assertThatThrownBy(() -> ExpertPopularity.even(70_000, 1))
                .hasMessage("experts: expected 1..65536 (experts) but was 70000");
        ExpertPopularity two = ExpertPopularity.even(2, 1);
        assertThatThrownBy(() -> two.distance(ExpertPopularity.even(3, 1)))
                .hasMessage("other: expected 2 experts but was 3");
    }

    @Test
    void givenProbabilitiesAreRoundedToMultiplesWithTheirSum() {
        double[] given = {0.1, 0.2, 0.3, 0.4, 1, 0};
        ExpertPopularity popularity = ExpertPopularity.of(2, given);
        assertProbabilities(popularity);
        for (int e = 0; e < given.length; e++) {
            assertThat(popularity.inclusion(e)).isCloseTo(given[e], within(0x1p-32));
        }
        assertProbabilities(ExpertPopularity.of(2, 0.6666667, 0.6666667, 0.6666667)); // the sum is a little more
    }

    @Test
    void shufflingKeepsTheProbabilities() {
        ExpertPopularity popularity = ExpertPopularity.ofVariation(64, 8, 1);
        double[] before = inclusions(popularity);
        double[] after = inclusions(popularity.shuffled(3));
        assertThat(after).isNotEqualTo(before).containsExactlyInAnyOrder(before);
        assertThat(inclusions(popularity.shuffled(3))).containsExactly(after);
    }

    @Test
    void whatIndependentTokensNeedIsAClosedForm() {
        ExpertPopularity popularity = ExpertPopularity.of(1, 0.75, 0.25, 0);
        assertThat(popularity.expectedNeeded(0)).isZero();
        assertThat(popularity.expectedNeeded(1)).isEqualTo(1);
        assertThat(popularity.expectedNeeded(2)).isEqualTo(1 - 1 / 16.0 + 1 - 9 / 16.0);
    }

    @Test
    void aTextSaysWhatItIs() {
        assertThat(ExpertPopularity.ofVariation(64, 8, 0.88))
                .hasToString("top 8 of 64 experts, coefficient of variation 0.880");
    }
}
