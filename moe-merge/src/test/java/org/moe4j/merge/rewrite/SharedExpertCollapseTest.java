package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.core.testing.standin.ForeignMatrix;

class SharedExpertCollapseTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    private static Matrix random(int rows, int columns, SplittableRandom random) {
        double[] values =
                random.doubles((long) rows * columns, -1, 1).map(v -> (float) v).toArray();
        return BACKEND.matrix(rows, columns, values);
    }

    private static SwiGluWeights expert(int hidden, int width, SplittableRandom random) {
        return new SwiGluWeights(
                random(width, hidden, random), random(width, hidden, random), random(hidden, width, random));
    }

    private static List<SwiGluWeights> experts(SplittableRandom random) {
        int hidden = 1 + random.nextInt(9);
        List<SwiGluWeights> experts = new ArrayList<>();
        for (int j = 1 + random.nextInt(5); j > 0; j--) {
            experts.add(expert(hidden, 1 + random.nextInt(20), random));
        }
        return experts;
    }

    private static double[] output(SwiGluWeights expert, Matrix tokens) {
        int[] rows = new int[tokens.rows()];
        Arrays.setAll(rows, t -> t);
        try (SwiGluExperts bank = SwiGluExperts.of(List.of(expert))) {
            return bank.apply(tokens, rows, RowGroups.single(rows.length)).toArray();
        }
    }

    private static void assertSame(SwiGluWeights actual, SwiGluWeights expected) {
        assertThat(actual.intermediateSize()).isEqualTo(expected.intermediateSize());
        assertThat(actual.hiddenSize()).isEqualTo(expected.hiddenSize());
        assertThat(actual.gate().toArray()).containsExactly(expected.gate().toArray());
        assertThat(actual.up().toArray()).containsExactly(expected.up().toArray());
        assertThat(actual.down().toArray()).containsExactly(expected.down().toArray());
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20})
    void theWideExpertIsTheSumOfTheExperts(int seed) {
        SplittableRandom random = new SplittableRandom(seed);
        List<SwiGluWeights> experts = experts(random);
        Matrix tokens = random(7, experts.get(0).hiddenSize(), random);
        double[] sum = new double[7 * tokens.columns()];
        for (SwiGluWeights expert : experts) {
            double[] one = output(expert, tokens);
            Arrays.setAll(sum, i -> sum[i] + one[i]);
        }
        double[] wide = output(SharedExpertCollapse.concatenate(experts), tokens);
        Tolerance.assertWithinMaxNorm("wide", wide, sum, 1e-13);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
    void splitUndoesConcatenateExactly(int seed) {
        List<SwiGluWeights> experts = experts(new SplittableRandom(seed));
        SwiGluWeights wide = SharedExpertCollapse.concatenate(experts);
        int[] widths =
                experts.stream().mapToInt(SwiGluWeights::intermediateSize).toArray();
        assertThat(wide.intermediateSize()).isEqualTo(Arrays.stream(widths).sum());
        List<SwiGluWeights> again = SharedExpertCollapse.split(wide, widths);
        assertThat(again).hasSameSizeAs(experts);
        for (int j = 0; j < widths.length; j++) {
            assertSame(again.get(j), experts.get(j));
        }
        assertSame(SharedExpertCollapse.concatenate(again), wide);
        assertSame(SharedExpertCollapse.split(wide, wide.intermediateSize()).get(0), wide);
    }

    @Test
    void theLayoutIsThatOfEquation75() {
        SwiGluWeights first = new SwiGluWeights(
                BACKEND.matrix(1, 2, new double[] {1, 2}),
                BACKEND.matrix(1, 2, new double[] {3, 4}),
                BACKEND.matrix(2, 1, new double[] {5, 6}));
        SwiGluWeights second = new SwiGluWeights(
                BACKEND.matrix(2, 2, new double[] {7, 8, 9, 10}),
                BACKEND.matrix(2, 2, new double[] {11, 12, 13, 14}),
                BACKEND.matrix(2, 2, new double[] {15, 16, 17, 18}));
        SwiGluWeights wide = SharedExpertCollapse.concatenate(List.of(first, second));
        assertThat(wide.gate().toArray()).containsExactly(1, 2, 7, 8, 9, 10);
        assertThat(wide.up().toArray()).containsExactly(3, 4, 11, 12, 13, 14);
        assertThat(wide.down().toArray()).containsExactly(5, 15, 16, 6, 17, 18);
    }

    @Test
    void resultsOutliveTheirSources() {
        SwiGluWeights expert = expert(2, 3, new SplittableRandom(1));
        SwiGluWeights wide = SharedExpertCollapse.concatenate(List.of(expert));
        expert.close();
        List<SwiGluWeights> parts = SharedExpertCollapse.split(wide, 1, 2);
        wide.close();
        assertThat(parts.get(1).down().toArray()).hasSize(4);
    }

    @Test
    void expertsThatCannotBeOneAreRefused() {
        SplittableRandom random = new SplittableRandom(1);
        SwiGluWeights expert = expert(2, 3, random);
        assertThatThrownBy(() -> SharedExpertCollapse.concatenate(List.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("experts: expected at least 1 expert but was an empty list");
        assertThatThrownBy(() -> SharedExpertCollapse.concatenate(List.of(expert, expert(4, 3, random))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("experts[1].gate: expected 3 x 2 (sizes of the partition) but was 3 x 4");
        SwiGluWeights foreign =
                new SwiGluWeights(new ForeignMatrix(3, 2), new ForeignMatrix(3, 2), new ForeignMatrix(2, 3));
        assertThatThrownBy(() -> SharedExpertCollapse.concatenate(List.of(expert, foreign)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(
                        "experts[1].gate: expected a matrix of ReferenceBackend but was one of Foreign");
        SwiGluWeights huge = new SwiGluWeights(
                new ForeignMatrix(1 << 30, 2), new ForeignMatrix(1 << 30, 2), new ForeignMatrix(2, 1 << 30));
        assertThatThrownBy(() -> SharedExpertCollapse.concatenate(List.of(huge, huge)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("widths: expected at most 2^31 - 1 intermediate units in all but was 2147483648");
    }

    @Test
    void widthsThatDoNotAddUpAreRefused() {
        SwiGluWeights wide = expert(2, 24, new SplittableRandom(1));
        assertThatThrownBy(() -> SharedExpertCollapse.split(wide, 10, 8))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("widths: expected 24 in all (intermediate size) but was 18");
        assertThatThrownBy(() -> SharedExpertCollapse.split(wide))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("widths: expected 24 in all (intermediate size) but was 0");
        assertThatThrownBy(() -> SharedExpertCollapse.split(wide, 24, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("widths[1]: expected at least 1 but was 0");
    }
}
