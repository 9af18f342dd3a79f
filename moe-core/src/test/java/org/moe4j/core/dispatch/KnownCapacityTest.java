package org.moe4j.core.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Test;
import org.moe4j.core.dispatch.Capacity.Limited;
import org.moe4j.core.dispatch.Capacity.Rounding;
import org.moe4j.core.dispatch.RowLimit.OfShare;
import org.moe4j.core.dispatch.RowLimit.ZeroRows;

/**
 * Each framework's rule, written out from its source on plain arrays, against the library's on random routings: no tokens,
 * one, K = 1, K = E, one expert, varying counts, all tokens to one expert, ties, groups and sequences, empty ones too.
 */
class KnownCapacityTest {
    private static final int DRAWS = 10_000;

    /** Marks what one group keeps. */
    @FunctionalInterface
    private interface Definition {
        void keep(Chosen chosen, int from, int to, boolean[][] kept);
    }

    private static double factor(SplittableRandom random) {
        double[] common = {0.25, 0.5, 1, 1.05, 1.1, 1.2, 1.25, 2, 16_384};
        return random.nextBoolean() ? common[random.nextInt(common.length)] : random.nextDouble(0.01, 3);
    }

    /** Compares the library with a definition, group by group; says how many assignments were dropped in all. */
    private static int check(long seed, Chosen chosen, Limited rule, List<Integer> lengths, Definition definition) {
        Admission admission = Admission.of(chosen.routing(), rule, lengths);
        boolean[][] kept = new boolean[chosen.expert().length][];
        for (int t = 0; t < kept.length; t++) {
            kept[t] = new boolean[chosen.expert()[t].length];
        }
        int from = 0;
        for (int length : groups(rule.scope(), kept.length, lengths)) {
            definition.keep(chosen, from, from + length, kept);
            from += length;
        }
        int dropped = 0;
        for (int t = 0; t < kept.length; t++) {
            for (int rank = 0; rank < kept[t].length; rank++) {
                double weight = kept[t][rank] ? chosen.weight()[t][rank] : 0;
                if (admission.isDropped(t, rank) == kept[t][rank] || admission.weight(t, rank) != weight) {
                    fail("seed %d, token %d, rank %d: expected kept %s", seed, t, rank, kept[t][rank]);
                }
                dropped += kept[t][rank] ? 0 : 1;
            }
        }
        assertThat(admission.dropped()).isEqualTo(dropped);
        return dropped;
    }

    private static List<Integer> groups(CapacityScope scope, int tokens, List<Integer> lengths) {
        if (scope instanceof CapacityScope.Groups cut) {
            List<Integer> sizes = new ArrayList<>();
            for (int left = tokens; left > 0; left -= cut.tokens()) {
                sizes.add(Math.min(left, cut.tokens()));
            }
            return sizes;
        }
        return scope instanceof CapacityScope.Sequences && !lengths.isEmpty() ? lengths : List.of(tokens);
    }

    @Test
    void megatronCoreKeepsTheLargestWeights() {
        int dropped = 0;
        for (long seed = 0; seed < DRAWS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Chosen chosen = Chosen.draw(random);
            double factor = factor(random);
            int minimum = random.nextBoolean() ? 0 : random.nextInt(1, 6);
            Limited rule = KnownCapacity.megatronCore(factor);
            OfShare rows = ((OfShare) rule.rows()).withMinimum(minimum);
            boolean position = random.nextBoolean();
            rule = Capacity.of(rows).withOrder(position ? DropOrder.POSITION : rule.order());
            dropped += check(seed, chosen, rule, List.of(), (all, from, to, kept) -> {
                int c = (int) Math.ceil(all.assignments(from, to) / (double) all.experts() * factor);
                c = Math.max(c, minimum);
                if (position) {
                    WrittenOrders.byPosition(all, WrittenOrders.tokenByToken(all, from, to), c, kept);
                } else {
                    WrittenOrders.byColumn(all, from, to, c, kept);
                }
            });
        }
        assertThat(dropped).isGreaterThan(DRAWS);
    }

    @Test
    void megaBlocksKeepsTheFirstOrAll() {
        int dropped = 0;
        for (long seed = 0; seed < DRAWS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            double factor = factor(random);
            dropped += check(
                    seed, Chosen.draw(random), KnownCapacity.megaBlocks(factor), List.of(), (all, from, to, kept) -> {
                        int c = (int) (factor * (all.assignments(from, to) / (double) all.experts()));
                        WrittenOrders.byPosition(
                                all,
                                WrittenOrders.tokenByToken(all, from, to),
                                c == 0 ? WrittenOrders.largestCount(all, from, to) : c,
                                kept);
                    });
        }
        assertThat(dropped).isGreaterThan(DRAWS);
    }

    @Test
    void olmoCoreRoundsUpToAMultipleOf8() {
        int dropped = 0;
        for (long seed = 0; seed < DRAWS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            double factor = factor(random);
            dropped += check(
                    seed, Chosen.draw(random), KnownCapacity.olmoCore(factor), List.of(), (all, from, to, kept) -> {
                        int c = (int) (factor * (all.assignments(from, to) / (double) all.experts()));
                        WrittenOrders.byPosition(all, WrittenOrders.tokenByToken(all, from, to), (c + 7) / 8 * 8, kept);
                    });
        }
        assertThat(dropped).isGreaterThan(DRAWS / 10);
    }

    @Test
    void switchKeepsTheFirstOfEachGroupAndAtLeast4() {
        int dropped = 0;
        for (long seed = 0; seed < DRAWS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            double factor = factor(random);
            Limited rule = KnownCapacity.switchTransformer(factor, random.nextInt(1, 20));
            dropped += check(seed, Chosen.draw(random), rule, List.of(), (all, from, to, kept) -> {
                int c = Math.max(Math.min(to - from, (int) ((to - from) * factor / all.experts())), 4);
                WrittenOrders.byPosition(all, WrittenOrders.tokenByToken(all, from, to), c, kept);
            });
        }
        assertThat(dropped).isGreaterThan(DRAWS / 10);
    }

    @Test
    void transformersSwitchCountsEachSequence() {
        int dropped = 0;
        for (long seed = 0; seed < DRAWS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Chosen chosen = Chosen.draw(random);
            int capacity = random.nextInt(1, 5);
            Limited rule = Capacity.of(RowLimit.rows(capacity)).withScope(CapacityScope.sequences());
            List<Integer> lengths = Chosen.lengths(random, chosen.expert().length);
            dropped += check(seed, chosen, rule, lengths, (all, from, to, kept) -> {
                int[] priority = new int[all.experts()]; // inclusive cumulative count
                for (int t = from; t < to; t++) {
                    for (int rank = 0; rank < all.expert()[t].length; rank++) {
                        kept[t][rank] = ++priority[all.expert()[t][rank]] <= capacity;
                    }
                }
            });
        }
        assertThat(dropped).isGreaterThan(DRAWS);
    }

    @Test
    void gShardServesFirstChoicesBeforeSecondOnes() {
        int dropped = 0;
        for (long seed = 0; seed < DRAWS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            double factor = factor(random);
            Limited known = KnownCapacity.gShard(factor, random.nextInt(1, 24));
            int given = random.nextBoolean() ? 4 : random.nextInt(4, 8);
            Limited rule = Capacity.of(((OfShare) known.rows()).withMinimum(given))
                    .withScope(known.scope())
                    .withOrder(known.order());
            dropped += check(seed, Chosen.draw(random), rule, List.of(), (all, from, to, kept) -> {
                int automatic = (int) ((to - from) * factor / all.experts());
                int c = given;
                if (c < automatic) {
                    c = automatic;
                    while (c % 4 != 0) {
                        c++;
                    }
                }
                int[] served = new int[all.experts()];
                for (int rank = 0; rank < all.experts(); rank++) {
                    int[] earlier = new int[all.experts()]; // choices of this rank before, kept or not
                    int[] now = new int[all.experts()];
                    for (int t = from; t < to; t++) {
                        if (rank < all.expert()[t].length) {
                            int e = all.expert()[t][rank];
                            kept[t][rank] = earlier[e]++ + served[e] < c;
                            now[e] += kept[t][rank] ? 1 : 0;
                        }
                    }
                    for (int e = 0; e < all.experts(); e++) {
                        served[e] += now[e];
                    }
                }
            });
        }
        assertThat(dropped).isGreaterThan(DRAWS / 10);
    }

    @Test
    void flaxformerRoundsToEven() {
        int dropped = 0;
        for (long seed = 0; seed < DRAWS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            double factor = factor(random);
            boolean prioritized = random.nextBoolean();
            Limited rule = KnownCapacity.flaxformer(factor, random.nextInt(1, 24));
            rule = prioritized ? rule.withOrder(DropOrder.BATCH_PRIORITY) : rule;
            dropped += check(seed, Chosen.draw(random), rule, List.of(), (all, from, to, kept) -> {
                int c = Math.max(halfEven(factor * (to - from) / all.experts()), 4);
                List<Integer> tokens =
                        prioritized ? WrittenOrders.byLargestWeight(all, from, to) : WrittenOrders.inOrder(from, to);
                WrittenOrders.byPosition(all, WrittenOrders.choiceByChoice(all, tokens), c, kept);
            });
        }
        assertThat(dropped).isGreaterThan(DRAWS / 10);
    }

    private static int halfEven(double value) {
        int below = (int) value;
        double rest = value - below;
        return rest > 0.5 || (rest == 0.5 && below % 2 == 1) ? below + 1 : below;
    }

    @Test
    void vMoeRefusesNoRowsAndRoundsUpToAMultipleOf4() {
        int dropped = 0;
        int refused = 0;
        for (long seed = 0; seed < DRAWS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Chosen chosen = Chosen.draw(random);
            double factor = factor(random);
            boolean prioritized = random.nextBoolean();
            boolean up = random.nextBoolean();
            int size = random.nextInt(1, 24);
            Limited known = KnownCapacity.vMoe(factor, size);
            OfShare rows = ((OfShare) known.rows()).withRounding(up ? Rounding.UP : Rounding.HALF_EVEN);
            Limited rule = Capacity.of(rows)
                    .withScope(known.scope())
                    .withOrder(prioritized ? DropOrder.BATCH_PRIORITY : known.order());
            IntUnaryOperator whole = assignments -> {
                double share = assignments * factor / chosen.experts();
                return up ? (int) Math.ceil(share) : halfEven(share);
            };
            boolean refuses = false;
            for (int from = 0; from < chosen.expert().length; from += size) {
                int assignments = chosen.assignments(from, Math.min(from + size, chosen.expert().length));
                refuses |= assignments > 0 && whole.applyAsInt(assignments) < 1;
            }
            if (refuses) {
                refused++;
                assertThatThrownBy(() -> Admission.of(chosen.routing(), rule, List.of()))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageStartingWith("capacity: expected at least 1 row per expert but was 0 of ");
                continue;
            }
            dropped += check(seed, chosen, rule, List.of(), (all, from, to, kept) -> {
                int c = (whole.applyAsInt(all.assignments(from, to)) + 3) / 4 * 4;
                List<Integer> tokens =
                        prioritized ? WrittenOrders.byLargestWeight(all, from, to) : WrittenOrders.inOrder(from, to);
                WrittenOrders.byPosition(all, WrittenOrders.choiceByChoice(all, tokens), c, kept);
            });
        }
        assertThat(dropped).isGreaterThan(DRAWS / 10);
        assertThat(refused).isBetween(1, DRAWS / 4);
    }

    @Test
    void productsAreFormedInTheOrderOfEachFramework() {
        // 100 assignments, 10 experts, factor 1.1: ceil(10 · 1.1) = 11, but 100 · 1.1 is above 110, and its tenth
        // rounds up to 12
        OfShare first = RowLimit.factor(1.1);
        assertThat(first.rowsPerExpert(100, 100, 10)).isEqualTo(11);
        assertThat(first.withShare(RowLimit.EvenShare.ASSIGNMENTS_FACTOR_FIRST).rowsPerExpert(100, 100, 10))
                .isEqualTo(12);
        // without K: 50 tokens with K = 2
        assertThat(first.withShare(RowLimit.EvenShare.TOKENS).rowsPerExpert(50, 100, 10))
                .isEqualTo(6);
    }

    @Test
    void zeroRowsMeanWhatIsSaid() {
        OfShare small = RowLimit.factor(0.5).withRounding(Rounding.DOWN);
        assertThat(small.rowsPerExpert(4, 4, 8)).isEqualTo(4);
        assertThat(small.withZeroRows(ZeroRows.NO_ROWS).rowsPerExpert(4, 4, 8)).isZero();
        assertThat(small.withMinimum(3).rowsPerExpert(4, 4, 8)).isEqualTo(3);
        OfShare refused = small.withZeroRows(ZeroRows.REFUSED);
        assertThatThrownBy(() -> refused.rowsPerExpert(4, 4, 8))
                .hasMessage(
                        "capacity: expected at least 1 row per expert but was 0 of 4 tokens, 4 assignments, 8 experts at"
                                + " factor 0.5; more tokens, a larger factor, a minimum, or another ZeroRows");
        assertThat(refused.rowsPerExpert(0, 0, 8)).isZero();
        assertThat(refused.rowsPerExpert(4, 0, 8)).isZero();
    }

    @Test
    void refusesNumbersThatAreNone() {
        assertThatThrownBy(() -> RowLimit.rows(0)).hasMessage("rows: expected at least 1 but was 0");
        assertThatThrownBy(() -> RowLimit.factor(1).withMinimum(-1))
                .hasMessage("minimum: expected at least 0 but was -1");
        assertThatThrownBy(() -> RowLimit.factor(1).withMultipleOf(0))
                .hasMessage("multipleOf: expected at least 1 but was 0");
        assertThatThrownBy(
                        () -> RowLimit.factor(1).withZeroRows(ZeroRows.REFUSED).withMinimum(2))
                .hasMessage("zeroRows: expected NO_LIMIT with a minimum, which leaves no 0 but was REFUSED");
        assertThatThrownBy(() -> CapacityScope.groups(0)).hasMessage("groupSize: expected at least 1 but was 0");
        assertThatThrownBy(() -> RowLimit.rows(1).rowsPerExpert(-1, 0, 1))
                .hasMessage("tokens: expected at least 0 but was -1");
        Routing two = Routing.of(2, 1, new int[] {0, 1}, new double[] {1, 1});
        Limited sequences = Capacity.factor(1).withScope(CapacityScope.sequences());
        assertThatThrownBy(() -> Admission.of(two, sequences, List.of(1)))
                .hasMessage("sequenceLengths: expected 2 tokens in all but was 1");
        assertThatThrownBy(() -> Admission.of(two, sequences, List.of(3, -1)))
                .hasMessage("sequenceLengths: expected at least 0 but was -1");
    }
}
