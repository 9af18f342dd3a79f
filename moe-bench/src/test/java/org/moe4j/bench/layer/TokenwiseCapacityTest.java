package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.layer.CapacityWords.Rows;
import org.moe4j.bench.layer.TokenwiseRouter.Choice;

/** The definition of the drop rules, against lists that were made by hand. */
class TokenwiseCapacityTest {
    /** Four tokens and their two choices: expert 0 is wanted by all. */
    private static final List<Choice> CHOICES = List.of(
            new Choice(new int[] {1, 0}, new double[] {0.5, 0.375}),
            new Choice(new int[] {0, 1}, new double[] {0.75, 0.125}),
            new Choice(new int[] {0, 2}, new double[] {0.625, 0.25}),
            new Choice(new int[] {0, 2}, new double[] {0.875, 0.0625}));

    private static String keptOf0(CapacityWords words) {
        return keptOf0(words, List.of());
    }

    /** Tokens that expert 0 keeps. */
    private static String keptOf0(CapacityWords words, List<Integer> sequences) {
        boolean[][] kept = TokenwiseCapacity.kept(words, CHOICES, 3, sequences);
        StringBuilder tokens = new StringBuilder();
        IntStream.range(0, 4).forEach(t -> tokens.append(kept[t][t == 0 ? 1 : 0] ? t : ""));
        return tokens.toString();
    }

    private static CapacityWords fixed(int rows, String order) {
        return new CapacityWords(
                new Rows(rows, 1, "tokens", "up", 0, 1, "no-rows"), "batch", order, "unchanged", "zero");
    }

    @Test
    void whoComesFirstDependsOnTheOrder() {
        assertThat(keptOf0(fixed(2, "position"))).isEqualTo("01");
        assertThat(keptOf0(fixed(2, "weight"))).isEqualTo("13");
        assertThat(keptOf0(fixed(2, "choice"))).isEqualTo("12"); // token 0 chose it second
        assertThat(keptOf0(fixed(1, "batch-priority"))).isEqualTo("3");
        assertThat(keptOf0(fixed(3, "batch-priority"))).isEqualTo("123");
        assertThat(keptOf0(fixed(4, "batch-priority"))).isEqualTo("0123");
    }

    @Test
    void groupsCountForThemselves() {
        CapacityWords pairs = new CapacityWords(fixed(1, "").rows(), "2", "position", "unchanged", "zero");
        assertThat(keptOf0(pairs)).isEqualTo("02");
        CapacityWords threes = new CapacityWords(fixed(1, "").rows(), "3", "position", "unchanged", "zero");
        assertThat(keptOf0(threes)).isEqualTo("03");
        CapacityWords sequences = new CapacityWords(fixed(1, "").rows(), "sequences", "position", "unchanged", "zero");
        assertThat(keptOf0(sequences)).isEqualTo("0");
        assertThat(keptOf0(sequences, List.of(1, 0, 3))).isEqualTo("01");
    }

    private static int rows(
            double factor, String share, String rounding, int minimum, int multipleOf, String zeroRows) {
        Rows rows = new Rows(0, factor, share, rounding, minimum, multipleOf, zeroRows);
        return keptOf0(CapacityWords.of(rows)).length();
    }

    /** T = 4, K = 2, E = 3: an even share of assignments is 8/3, of tokens 4/3. */
    @Test
    void rowsOfAnExpert() {
        assertThat(rows(1, "assignments", "up", 0, 1, "no-limit")).isEqualTo(3);
        assertThat(rows(1, "assignments", "down", 0, 1, "no-limit")).isEqualTo(2);
        assertThat(rows(1, "tokens", "down", 0, 1, "no-limit")).isEqualTo(1);
        assertThat(rows(1.125, "tokens", "half-even", 0, 1, "no-limit")).isEqualTo(2); // 1.5
        assertThat(rows(0.9375, "assignments-factor-first", "half-even", 0, 1, "no-limit"))
                .isEqualTo(2); // 2.5
        assertThat(rows(1, "tokens", "down", 0, 4, "no-limit")).isEqualTo(4);
        assertThat(rows(1, "tokens", "down", 3, 4, "no-limit")).isEqualTo(3);
        assertThat(rows(0.5, "tokens", "down", 0, 1, "no-limit")).isEqualTo(4);
        assertThat(rows(0.5, "tokens", "down", 0, 1, "no-rows")).isZero();
        assertThat(rows(0.5, "tokens", "down", 2, 1, "no-limit")).isEqualTo(2);
    }

    @Test
    void theGapIsThatOfWhatIsCompared() {
        assertThat(TokenwiseCapacity.gap(fixed(1, "position"), CHOICES, 3)).isInfinite();
        assertThat(TokenwiseCapacity.gap(fixed(1, "choice"), CHOICES, 3)).isInfinite();
        assertThat(TokenwiseCapacity.gap(fixed(1, "batch-priority"), CHOICES, 3))
                .isEqualTo(0.125);
        assertThat(TokenwiseCapacity.gap(fixed(1, "weight"), CHOICES, 3)).isEqualTo(0.125);
    }
}
