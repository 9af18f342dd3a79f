package org.moe4j.router.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class UsageDistanceTest {
    private static double defined(DrawnRouting a, DrawnRouting b) {
        if (a.assignments() == 0 || b.assignments() == 0) {
            return a.assignments() == b.assignments() ? 0 : 1;
        }
        double sum = 0;
        for (int e = 0; e < a.experts(); e++) {
            sum += Math.abs((double) a.count(e) / a.assignments() - (double) b.count(e) / b.assignments());
        }
        return sum / 2;
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource("org.moe4j.core.testing.Cases#seeds")
    void distancesAreTheirDefinitions(long seed) {
        Random random = new Random(seed);
        DrawnRouting one = DrawnRouting.draw(seed);
        int topK = 1 + random.nextInt(one.experts());
        DrawnRouting other = DrawnRouting.draw(one.experts(), random.nextInt(50), topK, false, random)
                .turned();
        DrawnRouting third = DrawnRouting.draw(one.experts(), 1 + random.nextInt(50), topK, true, random);
        List<DrawnRouting> passages = List.of(one, other, third);
        UsageDistance distance = UsageDistance.of(
                passages.stream().map(p -> PassageUsage.of(p.source())).toList());
        double rounding = 4 * one.experts() * Math.ulp(1.0);

        double floor = 0;
        for (int i = 0; i < 3; i++) {
            DrawnRouting passage = passages.get(i);
            int tokens = passage.tokens().size();
            double halves = defined(passage.part(0, tokens / 2), passage.part(tokens / 2, tokens));
            assertThat(distance.noise().get(i)).isCloseTo(halves, within(rounding));
            floor += halves / 3;
        }
        double[] pairs = {defined(one, other), defined(one, third), defined(other, third)};
        for (int i = 0; i < 3; i++) {
            assertThat(distance.pairs().get(i).distance()).isCloseTo(pairs[i], within(rounding));
        }
        double cross = (pairs[0] + pairs[1] + pairs[2]) / 3;
        assertThat(distance.noiseFloor()).isCloseTo(floor, within(rounding));
        assertThat(distance.cross()).isCloseTo(cross, within(rounding));
        if (floor > 0) {
            assertThat(distance.crossOverNoise().orElseThrow())
                    .isCloseTo(cross / floor, within(1e-12 * cross / floor + 1e-15));
        }
        assertThat(distance.pairs()).extracting(UsageDistance.Pair::first).containsExactly(0, 0, 1);
        assertThat(distance.pairs()).extracting(UsageDistance.Pair::second).containsExactly(1, 2, 2);
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource("org.moe4j.core.testing.Cases#seeds")
    void halvesMeetInTheMiddleWhateverTheBlocks(long seed) {
        DrawnRouting drawn = DrawnRouting.draw(seed);
        int tokens = drawn.tokens().size();
        for (int size : new int[] {1, 3, 10_000}) {
            PassageUsage usage = drawn.shownTo(new PassageUsage.Counter(drawn.experts(), tokens), size)
                    .result();
            assertThat(usage.first().counts())
                    .containsExactly(
                            ExpertLoad.of(drawn.part(0, tokens / 2).source()).counts());
            assertThat(usage.second().counts())
                    .containsExactly(
                            ExpertLoad.of(drawn.part(tokens / 2, tokens).source())
                                    .counts());
            assertThat(usage.all().tokens()).isEqualTo(tokens);
        }
    }

    /** The article's three pairs in layer 15, their mean, 0.652, and its quotient with 0.173, 3.8; all are printed to a half of their last digit. */
    @Test
    void crossIsTheMeanOfThePairs() {
        UsageDistance distance = new UsageDistance(
                List.of(0.173, 0.173, 0.173),
                List.of(
                        new UsageDistance.Pair(0, 1, 0.855),
                        new UsageDistance.Pair(0, 2, 0.596),
                        new UsageDistance.Pair(1, 2, 0.505)));

        assertThat(distance.cross()).isCloseTo(0.652, within(1e-3));
        assertThat(distance.crossOverNoise().orElseThrow()).isCloseTo(3.8, within(0.06));
    }

    @Test
    void disjointEqualAndEmptyPassages() {
        ExpertLoad left = ExpertLoad.of(new long[] {4, 2, 0, 0}, 4);
        ExpertLoad right = ExpertLoad.of(new long[] {0, 0, 1, 0}, 1);
        ExpertLoad none = ExpertLoad.of(new long[4], 0);

        assertThat(UsageDistance.totalVariation(left, right)).isEqualTo(1);
        assertThat(UsageDistance.totalVariation(left, ExpertLoad.of(new long[] {8, 4, 0, 0}, 8)))
                .isZero();
        assertThat(UsageDistance.totalVariation(none, none)).isZero();
        assertThat(UsageDistance.totalVariation(none, right)).isEqualTo(1);
        UsageDistance alone = UsageDistance.of(List.of(new PassageUsage(left, left)));
        assertThat(alone.cross()).isZero();
        assertThat(alone.crossOverNoise()).isEmpty();
        assertThat(UsageDistance.of(List.of()).noiseFloor()).isZero();
        assertThatThrownBy(() -> UsageDistance.totalVariation(left, ExpertLoad.of(new long[3], 0)))
                .hasMessage("b: expected 4 experts but was 3");
        assertThatThrownBy(() -> new PassageUsage(left, ExpertLoad.of(new long[3], 0)))
                .hasMessageContaining("second: expected 4 experts");
    }

    @Test
    void singleExpertsThatDiffer() {
        ExpertLoad prose = ExpertLoad.of(new long[] {5, 0, 4, 1, 0}, 10);
        ExpertLoad code = ExpertLoad.of(new long[] {10, 3, 0, 7, 0}, 20);

        assertThat(UsageDistance.usedOnlyBy(code, prose)).containsExactly(1);
        assertThat(UsageDistance.usedOnlyBy(prose, code)).containsExactly(2);
        assertThat(UsageDistance.risesMost(prose, code)).isEqualTo(3); // 0.10 to 0.35
        assertThat(UsageDistance.risesMost(code, prose)).isEqualTo(2); // 0 to 0.4
        assertThat(UsageDistance.risesMost(prose, prose)).isZero();
        assertThatThrownBy(() -> UsageDistance.risesMost(prose, ExpertLoad.of(new long[3], 0)))
                .hasMessageContaining("experts");
    }

    /** From 1/2 to 2/3 and from 0 to 1/6: equal rises, although doubles have 0.16666666666666663 and 0.16666666666666666. */
    @Test
    void roundingDoesNotDecideBetweenEqualRises() {
        ExpertLoad from = ExpertLoad.of(new long[] {1, 0, 1}, 2);
        ExpertLoad to = ExpertLoad.of(new long[] {4, 1, 1}, 6);
        ExpertLoad nothing = ExpertLoad.of(new long[3], 0);

        assertThat(UsageDistance.risesMost(from, to)).isZero();
        assertThat(UsageDistance.risesMost(nothing, to)).isZero();
        assertThat(UsageDistance.risesMost(from, nothing)).isEqualTo(1); // the others fall
    }

    /** The article's expert 17: 109 of 1,120 are 9.73 %, 1 of 752 is 0.13 %, 102 of 824 are 12.38 %. */
    @Test
    void sharesOfTheArticlesExpert() {
        assertThat(ExpertLoad.of(new long[] {109, 1011}, 1120).share(0)).isCloseTo(0.0973, within(5e-5));
        assertThat(ExpertLoad.of(new long[] {1, 751}, 752).share(0)).isCloseTo(0.0013, within(5e-5));
        assertThat(ExpertLoad.of(new long[] {102, 722}, 824).share(0)).isCloseTo(0.1238, within(5e-5));
    }
}
