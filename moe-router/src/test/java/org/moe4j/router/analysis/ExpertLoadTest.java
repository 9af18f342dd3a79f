package org.moe4j.router.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class ExpertLoadTest {
    private static final String SEEDS = "org.moe4j.core.testing.Cases#seeds";

    @ParameterizedTest(name = "seed {0}")
    @MethodSource(SEEDS)
    void countsAreThoseOfTheTokens(long seed) {
        DrawnRouting drawn = DrawnRouting.draw(seed);
        ExpertLoad load = ExpertLoad.of(drawn.source());

        assertThat(load.tokens()).isEqualTo(drawn.tokens().size());
        assertThat(load.assignments()).isEqualTo(drawn.assignments());
        for (int e = 0; e < drawn.experts(); e++) {
            assertThat(load.count(e)).isEqualTo(drawn.count(e));
            assertThat(load.share(e))
                    .isEqualTo(drawn.assignments() == 0 ? 0 : drawn.count(e) / (double) drawn.assignments());
        }
        assertThat(drawn.shownTo(new ExpertLoad.Counter(drawn.experts()), 7)
                        .result()
                        .counts())
                .containsExactly(load.counts());
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource(SEEDS)
    void measuresAreTheirDefinitions(long seed) {
        DrawnRouting drawn = DrawnRouting.draw(seed);
        ExpertLoad load = ExpertLoad.of(drawn.source());
        int experts = drawn.experts();
        double all = drawn.assignments();
        if (all == 0) {
            return; // seen in valuesOfNothingAreZero
        }
        double mean = all / experts;
        double squares = 0;
        double entropy = 0;
        double most = 0;
        int idle = 0;
        for (int e = 0; e < experts; e++) {
            double count = drawn.count(e);
            squares += Math.pow(count - mean, 2);
            entropy += count == 0 ? 0 : -count / all * Math.log(count / all);
            most = Math.max(most, count);
            idle += count == 0 ? 1 : 0;
        }
        double rounding = 8 * experts * Math.ulp(1.0); // E terms, each of a few operations, relative to their sum
        assertThat(load.variation()).isCloseTo(Math.sqrt(squares / experts) / mean, within(rounding * experts));
        assertThat(load.entropy()).isCloseTo(entropy, within(rounding * Math.log(experts + 1)));
        assertThat(load.busiestVersusEven()).isCloseTo(most / mean, within(rounding * experts));
        assertThat(load.maximumViolation()).isCloseTo((most - mean) / mean, within(rounding * experts));
        assertThat(load.count(load.busiest())).isEqualTo((long) most);
        assertThat(load.idle()).isEqualTo(idle);
        for (int e = 0; e < experts; e++) {
            assertThat(load.count(load.quietest())).isLessThanOrEqualTo(load.count(e));
        }
    }

    @Test
    void valuesOfNothingAreZero() {
        ExpertLoad none = new ExpertLoad.Counter(3).result();

        assertThat(none.variation()).isZero();
        assertThat(none.entropy()).isZero();
        assertThat(none.busiestVersusEven()).isZero();
        assertThat(none.maximumViolation()).isZero();
        assertThat(none.idle()).isEqualTo(3);
        assertThat(none.shares()).containsOnly(0);
        assertThat(none.rowsPerCall()).isEqualTo(new ExpertLoad.RowsPerCall(0, 0, 0, 0));
    }

    /** The article's layer 0: 254 of 2,848 assignments are 8.92 % and 5.71 times the even share of 1.56 %. */
    @Test
    void sharesOfTheArticlesBusiestExpert() {
        long[] counts = new long[64];
        counts[0] = 254;
        counts[1] = 1;
        for (int i = 0; i < 2848 - 255; i++) {
            counts[2 + i % 62]++;
        }
        ExpertLoad load = ExpertLoad.of(counts, 356);

        assertThat(load.share(0)).isCloseTo(0.0892, within(5e-5));
        assertThat(load.busiestVersusEven()).isCloseTo(5.71, within(5e-3));
        assertThat(load.share(load.quietest())).isCloseTo(0.0004, within(5e-5));
        assertThat(load.evenShare()).isCloseTo(0.0156, within(5e-5));
        assertThat(load.rowsPerCall().fewest()).isEqualTo(1);
        assertThat(load.rowsPerCall().most()).isEqualTo(254);
        assertThat(load.rowsPerCall().called()).isEqualTo(64);
    }

    @Test
    void evenAndConcentratedLoadsHaveTheValuesOfTheirClosedForms() {
        ExpertLoad even = ExpertLoad.of(new long[] {5, 5, 5, 5}, 10);
        ExpertLoad one = ExpertLoad.of(new long[] {0, 9, 0, 0}, 9);

        assertThat(even.variation()).isZero();
        assertThat(even.entropy()).isCloseTo(Math.log(4), within(1e-15));
        assertThat(even.maximumViolation()).isZero();
        assertThat(one.variation()).isCloseTo(Math.sqrt(3), within(1e-15)); // √(E − 1)
        assertThat(one.entropy()).isZero();
        assertThat(one.busiestVersusEven()).isEqualTo(4);
        assertThat(one.busiest()).isEqualTo(1);
        assertThat(one.quietest()).isZero();
        assertThat(one.rowsPerCall()).isEqualTo(new ExpertLoad.RowsPerCall(1, 9, 9, 9));
        assertThat(ExpertLoad.of(new long[] {1, 0, 4, 2, 9}, 9).rowsPerCall())
                .isEqualTo(new ExpertLoad.RowsPerCall(4, 1, 3, 9));
    }

    @Test
    void loadsAddUp() {
        ExpertLoad sum = ExpertLoad.of(new long[] {1, 2}, 3).plus(ExpertLoad.of(new long[] {4, 0}, 4));

        assertThat(sum.counts()).containsExactly(5, 2);
        assertThat(sum.tokens()).isEqualTo(7);
        assertThat(sum).hasToString("ExpertLoad[7 tokens, 7 assignments, 2 experts]");
        assertThatThrownBy(() -> sum.plus(ExpertLoad.of(new long[3], 0)))
                .hasMessageStartingWith("other: expected 2 experts");
        assertThatThrownBy(() -> ExpertLoad.of(new long[] {4}, 3))
                .hasMessage("counts: expected 0..3 (tokens) but was 4");
        assertThatThrownBy(() -> ExpertLoad.of(new long[] {-1}, 3)).hasMessageContaining("but was -1");
        assertThatThrownBy(() -> ExpertLoad.of(new long[] {Long.MAX_VALUE, 1}, Long.MAX_VALUE))
                .hasMessage("counts: expected a sum below 2^63 but was 9223372036854775807 + 1");
        assertThatThrownBy(() -> new ExpertLoad.Counter(2).add(ChosenExperts.of(3, 1, 1, new int[] {2})))
                .hasMessageStartingWith("block: expected 2 experts");
    }
}
