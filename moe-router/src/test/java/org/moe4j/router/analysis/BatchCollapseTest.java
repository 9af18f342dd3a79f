package org.moe4j.router.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class BatchCollapseTest {
    /** Mean of the distinct experts of complete blocks, as sets. */
    private static double defined(List<List<Integer>> tokens, int size) {
        long blocks = tokens.size() / size;
        long sum = 0;
        for (int b = 0; b < blocks; b++) {
            Set<Integer> union = new HashSet<>();
            tokens.subList(b * size, (b + 1) * size).forEach(union::addAll);
            sum += union.size();
        }
        return blocks == 0 ? 0 : (double) sum / blocks;
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource("org.moe4j.core.testing.Cases#seeds")
    void blocksNeedTheUnionOfTheirTokens(long seed) {
        DrawnRouting drawn = DrawnRouting.draw(seed);
        BatchCollapse collapse = BatchCollapse.of(drawn.source());
        int tokens = drawn.tokens().size();

        assertThat(collapse.sizes()).hasSize(tokens == 0 ? 0 : 32 - Integer.numberOfLeadingZeros(tokens));
        for (int size = 1; size <= 2 * tokens + 1; size *= 2) {
            assertThat(collapse.blocks(size)).isEqualTo(tokens / size);
            assertThat(collapse.needed(size)).isEqualTo(defined(drawn.tokens(), size));
            assertThat(collapse.neededShare(size))
                    .isCloseTo(defined(drawn.tokens(), size) / drawn.experts(), within(1e-15));
            double perToken = tokens == 0 ? 0 : (double) drawn.assignments() / tokens;
            assertThat(collapse.worstCase(size)).isEqualTo(Math.min(drawn.experts(), size * perToken));
            assertThat(collapse.needed(size)).isLessThanOrEqualTo(drawn.experts());
        }
        BatchCollapse inPieces =
                drawn.shownTo(new BatchCollapse.Counter(drawn.experts()), 5).result();
        for (long size : collapse.sizes()) {
            assertThat(inPieces.needed(size)).isEqualTo(collapse.needed(size));
        }
    }

    @Test
    void severalLayersAreTheMeanOverAllTheirBlocks() {
        DrawnRouting first = DrawnRouting.draw(9, 20, 2, false, new Random(1));
        DrawnRouting second = DrawnRouting.draw(9, 12, 3, false, new Random(2));
        BatchCollapse both =
                BatchCollapse.of(List.of(BatchCollapse.of(first.source()), BatchCollapse.of(second.source())));

        assertThat(both.blocks(4)).isEqualTo(5 + 3);
        assertThat(both.needed(4))
                .isCloseTo((5 * defined(first.tokens(), 4) + 3 * defined(second.tokens(), 4)) / 8, within(1e-14));
        assertThat(both.expertsPerToken()).isEqualTo((40 + 36) / 32.0);
        assertThat(both.experts()).isEqualTo(9);
        assertThatThrownBy(() -> BatchCollapse.of(
                        List.of(both, BatchCollapse.of(DrawnRouting.draw(3).source()))))
                .hasMessageContaining("experts");
    }

    /** By inclusion and exclusion an expert is missed by B independent tokens with probability (C(E−1, K)/C(E, K))^B. */
    @Test
    void closedFormOfIndependentUniformRouting() {
        assertThat(BatchCollapse.ofIndependentUniform(64, 8, 1)).isCloseTo(8, within(1e-13));
        assertThat(BatchCollapse.ofIndependentUniform(64, 8, 8))
                .isCloseTo(64 * (1 - Math.pow(7.0 / 8, 8)), within(1e-12));
        assertThat(BatchCollapse.ofIndependentUniform(64, 64, 3)).isEqualTo(64);
        assertThat(BatchCollapse.ofIndependentUniform(64, 0, 3)).isZero();
        assertThat(BatchCollapse.ofIndependentUniform(64, 8, 0)).isZero();
        assertThat(BatchCollapse.ofIndependentUniform(1, 1, 5)).isEqualTo(1);
        assertThatThrownBy(() -> BatchCollapse.ofIndependentUniform(8, 9, 1))
                .hasMessage("topK: expected 0..8 (experts) but was 9.0");
        assertThatThrownBy(() -> BatchCollapse.ofIndependentUniform(8, 1, -1)).hasMessageContaining("at least 0");
    }

    /** The expectation over all 16 pairs of one-expert choices of two tokens among four: (4·1 + 12·2)/16. */
    @Test
    void closedFormIsTheMeanOverAllRoutings() {
        double sum = 0;
        for (int a = 0; a < 4; a++) {
            for (int b = 0; b < 4; b++) {
                sum += Set.of(List.of(a)).contains(List.of(b)) ? 1 : 2;
            }
        }
        assertThat(BatchCollapse.ofIndependentUniform(4, 1, 2)).isCloseTo(sum / 16, within(1e-15));
        assertThat(BatchCollapse.of(new DrawnRouting(4, List.of(List.of(0), List.of(3))).source())
                        .independentUniform(2))
                .isCloseTo(sum / 16, within(1e-15));
    }

    /** The article's dotted line: eight tokens of 8 experts each would need all 64. */
    @Test
    void worstCaseOfTheArticle() {
        BatchCollapse collapse = BatchCollapse.of(
                DrawnRouting.draw(64, 16, 8, false, new Random(7)).source());

        assertThat(collapse.worstCase(1)).isEqualTo(8);
        assertThat(collapse.worstCase(4)).isEqualTo(32);
        assertThat(collapse.worstCase(8)).isEqualTo(64);
        assertThat(collapse.worstCase(16)).isEqualTo(64);
    }

    @Test
    void sizesArePowersOfTwo() {
        BatchCollapse none = new BatchCollapse.Counter(3).result();

        assertThat(none.sizes()).isEmpty();
        assertThat(none.needed(1)).isZero();
        assertThatThrownBy(() -> none.needed(3)).hasMessage("size: expected a power of two but was 3");
        assertThatThrownBy(() -> none.blocks(0)).hasMessageContaining("power of two");
        assertThatThrownBy(() -> none.blocks(1L << 62)).hasMessageContaining("power of two");
    }
}
