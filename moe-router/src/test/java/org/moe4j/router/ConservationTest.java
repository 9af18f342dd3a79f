package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.core.dispatch.Admission;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.Capacity.Rounding;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.DropOrder;
import org.moe4j.core.dispatch.KeptWeights;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.dispatch.UnservedTokens;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.testing.Promise;
import org.moe4j.router.ExpertSelection.GroupLimited;

/** No assignment is lost or made: each is kept or counted as dropped, by any selection and any capacity. */
class ConservationTest {
    /** Rows an expert may take of a group of tokens with so many assignments, each rule written out. */
    private enum Rule {
        ALL,
        FIXED,
        UP,
        DOWN;

        int rows(double number, int tokens, int slots, int experts) {
            double share = (double) slots / experts * number;
            return switch (this) {
                case ALL -> tokens;
                case FIXED -> (int) Math.min(number, tokens);
                case UP -> (int) Math.min(Math.ceil(share), tokens);
                case DOWN -> share < 1 ? tokens : (int) Math.min(Math.floor(share), tokens);
            };
        }

        RowLimit limit(double number) {
            return switch (this) {
                case ALL -> RowLimit.rows(Integer.MAX_VALUE);
                case FIXED -> RowLimit.rows((int) number);
                case UP -> RowLimit.factor(number);
                case DOWN -> RowLimit.factor(number).withRounding(Rounding.DOWN);
            };
        }

        double number(SplittableRandom random) {
            return this == FIXED ? 1 + random.nextInt(6) : random.nextDouble(0.1, 2.5);
        }
    }

    /** One call: what is routed, and what the experts may take. */
    private static final class Call {
        final SplittableRandom random;
        final int experts;
        final int tokens;
        final Rule rule;
        final double number;
        final List<Integer> lengths;
        final int groupSize;
        final int scope;

        Call(long seed) {
            random = new SplittableRandom(seed);
            experts = 1 + random.nextInt(random.nextBoolean() ? 4 : 16);
            tokens = random.nextInt(8) == 0 ? 0 : random.nextInt(20);
            rule = one(Rule.values());
            number = rule.number(random);
            lengths = random.nextBoolean() ? List.of() : lengths();
            groupSize = 1 + random.nextInt(8);
            scope = random.nextInt(3);
        }

        <T> T one(T[] values) {
            return values[random.nextInt(values.length)];
        }

        private List<Integer> lengths() {
            int first = random.nextInt(tokens + 1);
            int second = random.nextInt(first, tokens + 1);
            return List.of(first, second - first, tokens - second);
        }

        /** Where the groups of tokens begin, and where the last ends. */
        int[] bounds() {
            List<Integer> bounds = new ArrayList<>(List.of(0));
            if (scope == 1) {
                for (int at = groupSize; at < tokens; at += groupSize) {
                    bounds.add(at);
                }
            } else if (scope == 2) {
                lengths.forEach(length -> bounds.add(bounds.get(bounds.size() - 1) + length));
            }
            bounds.add(tokens);
            return bounds.stream().mapToInt(at -> at).toArray();
        }

        CapacityScope inGroups() {
            return scope == 0
                    ? CapacityScope.batch()
                    : scope == 1 ? CapacityScope.groups(groupSize) : CapacityScope.sequences();
        }

        Capacity capacity() {
            if (rule == Rule.ALL && random.nextBoolean()) {
                return Capacity.dropless();
            }
            return Capacity.of(rule.limit(rule == Rule.ALL ? 1 : number))
                    .withScope(inGroups())
                    .withOrder(one(DropOrder.values()))
                    .withKeptWeights(one(KeptWeights.values()))
                    .withUnserved(one(UnservedTokens.values()));
        }

        ExpertSelection selection(int topK) {
            int kind = random.nextInt(6);
            if (kind == 0 && experts % 2 == 0 && topK <= experts / 2) {
                return new GroupLimited(2, 1, new GroupScore.Max());
            }
            if (kind == 1) {
                return new ExpertSelection.ExpertChoice(rule.limit(number), inGroups());
            }
            if (kind == 2) {
                return new ExpertSelection.Sinkhorn(1e-3, 20);
            }
            if (kind == 3 && topK == 2) {
                return new ExpertSelection.TopTwo(one(new SecondExpert[] {
                    new SecondExpert.All(),
                    new SecondExpert.Random(random.nextDouble(0.1, 1)),
                    new SecondExpert.Sampled()
                }));
            }
            return new ExpertSelection.PlainTopK();
        }

        double[] logits() {
            boolean ties = random.nextBoolean();
            return random.doubles((long) tokens * experts, -3, 3)
                    .map(logit -> ties ? Math.rint(logit) : logit)
                    .toArray();
        }
    }

    private static int[][] chosen(Routing routing) {
        int[][] chosen = new int[routing.tokens()][];
        for (int t = 0; t < chosen.length; t++) {
            chosen[t] = new int[routing.count(t)];
            for (int rank = 0; rank < chosen[t].length; rank++) {
                chosen[t][rank] = routing.expert(t, rank);
            }
        }
        return chosen;
    }

    private static boolean[][] kept(Admission admission, int[][] chosen) {
        boolean[][] kept = new boolean[chosen.length][];
        for (int t = 0; t < chosen.length; t++) {
            kept[t] = new boolean[chosen[t].length];
            for (int rank = 0; rank < kept[t].length; rank++) {
                kept[t][rank] = !admission.isDropped(t, rank);
            }
        }
        return kept;
    }

    /** What is wrong with the experts of a token, in words. */
    private static Optional<String> fault(int experts, int[] ofToken, int least, int most) {
        boolean[] seen = new boolean[experts];
        for (int expert : ofToken) {
            if (expert < 0 || expert >= experts || seen[expert]) {
                return Optional.of("expert " + expert + " is none or twice");
            }
            seen[expert] = true;
        }
        return ofToken.length < least || ofToken.length > most
                ? Optional.of(ofToken.length + " experts")
                : Optional.empty();
    }

    /** What is wrong with what is kept of a group, in words: an expert takes what it is asked for, or C. */
    private static Optional<String> fault(int experts, int[][] chosen, boolean[][] kept, int from, int to, int rows) {
        int[] asked = new int[experts];
        int[] taken = new int[experts];
        for (int t = from; t < to; t++) {
            for (int rank = 0; rank < chosen[t].length; rank++) {
                asked[chosen[t][rank]]++;
                taken[chosen[t][rank]] += kept[t][rank] ? 1 : 0;
            }
        }
        for (int e = 0; e < experts; e++) {
            if (taken[e] != Math.min(asked[e], rows)) {
                return Optional.of("expert " + e + " took " + taken[e] + " of " + asked[e] + " at C " + rows);
            }
        }
        return Optional.empty();
    }

    private static int slots(int[][] chosen, int from, int to) {
        return Arrays.stream(chosen, from, to)
                .mapToInt(ofToken -> ofToken.length)
                .sum();
    }

    /** One random call; returns what was dropped. */
    private static int call(long seed) {
        Call call = new Call(seed);
        int topK = 1 + call.random.nextInt(call.experts);
        ExpertSelection selection = call.selection(topK);
        ScoreFunction score = call.one(new ScoreFunction[] {
            new ScoreFunction.Softmax(), new ScoreFunction.Sigmoid(), new ScoreFunction.SqrtSoftplus()
        });
        boolean biased = selection.takesSelectionBias() && call.random.nextBoolean();
        RouterConfig config = RouterConfig.topK(call.experts, topK)
                .withScore(score)
                .withSelection(selection)
                .withSelectionBias(biased);
        RoutingContext context = new RoutingContext(Optional.empty(), call.lengths, OptionalLong.of(seed));
        double[] logits = call.logits();
        double[] bias = call.random.doubles(call.experts, -1, 1).toArray();
        Routing routing = biased
                ? config.routed(logits, SelectionBias.of(bias), context).routing()
                : config.routed(logits, context).routing();
        int[][] chosen = chosen(routing);
        String name = "seed " + seed + ": " + config;
        assertThat(routing.tokens()).as(name).isEqualTo(call.tokens);
        int least = selection.fixedCount() ? topK : selection instanceof ExpertSelection.TopTwo ? 1 : 0;
        int most = selection instanceof ExpertSelection.ExpertChoice ? call.experts : topK;
        for (int[] ofToken : chosen) {
            assertThat(fault(call.experts, ofToken, least, most)).as(name).isEmpty();
        }
        if (selection instanceof ExpertSelection.ExpertChoice) {
            takesItsShare(name, call, topK, chosen);
        }
        return dispatched(name, call, routing, chosen);
    }

    /** Every expert takes C tokens of each group. */
    private static void takesItsShare(String name, Call call, int topK, int[][] chosen) {
        int[] bounds = call.bounds();
        for (int g = 0; g + 1 < bounds.length; g++) {
            int tokens = bounds[g + 1] - bounds[g];
            int rows =
                    call.rule == Rule.ALL ? tokens : call.rule.rows(call.number, tokens, tokens * topK, call.experts);
            int[] taken = new int[call.experts];
            for (int t = bounds[g]; t < bounds[g + 1]; t++) {
                Arrays.stream(chosen[t]).forEach(expert -> taken[expert]++);
            }
            assertThat(taken).as(name).containsOnly(rows);
        }
    }

    private static int dispatched(String name, Call call, Routing routing, int[][] chosen) {
        Capacity capacity = call.capacity();
        Admission admission = Admission.of(routing, capacity, call.lengths);
        DispatchPlan plan = DispatchPlan.of(admission);
        boolean[][] kept = kept(admission, chosen);
        String with = name + " with " + capacity;
        int[] bounds = call.bounds();
        for (int g = 0; g + 1 < bounds.length; g++) {
            int from = bounds[g];
            int to = bounds[g + 1];
            int rows = capacity instanceof Capacity.Dropless || call.rule == Rule.ALL
                    ? to - from
                    : call.rule.rows(call.number, to - from, slots(chosen, from, to), call.experts);
            assertThat(fault(call.experts, chosen, kept, from, to, rows))
                    .as(with)
                    .isEmpty();
        }
        int[] asked = new int[call.experts];
        int[] taken = new int[call.experts];
        int[] rowsOfToken = new int[call.tokens];
        int dropped = 0;
        for (int t = 0; t < chosen.length; t++) {
            for (int rank = 0; rank < chosen[t].length; rank++) {
                asked[chosen[t][rank]]++;
                taken[chosen[t][rank]] += kept[t][rank] ? 1 : 0;
                rowsOfToken[t] += kept[t][rank] ? 1 : 0;
                dropped += kept[t][rank] ? 0 : 1;
                assertThat(kept[t][rank] || admission.weight(t, rank) == 0)
                        .as(with)
                        .isTrue();
            }
        }
        assertThat(routing.tokensPerExpert()).as(with).isEqualTo(asked);
        assertThat(List.of(
                        admission.dropped(),
                        plan.dropped(),
                        routing.slots() - plan.groups().rows()))
                .as(with)
                .containsOnly(dropped);
        for (int e = 0; e < call.experts; e++) {
            assertThat(plan.groups().size(e)).as(with).isEqualTo(taken[e]);
        }
        int[] counted = new int[call.tokens];
        Arrays.stream(plan.rows()).forEach(token -> counted[token]++);
        assertThat(counted).as(with).isEqualTo(rowsOfToken);
        assertThat(kept(Admission.of(routing, capacity, call.lengths), chosen))
                .as(with)
                .isDeepEqualTo(kept);
        return dropped;
    }

    private static void calls(int calls, String what) {
        long dropped = 0;
        for (int seed = 0; seed < calls; seed++) {
            dropped += call(seed);
        }
        assertThat(dropped).isGreaterThan(calls); // else nothing of it was tried
        Promise.measured(
                9, what, "0 of " + calls + " configurations off; " + dropped + " assignments dropped and counted");
    }

    @Test
    void everyAssignmentIsKeptOrCounted() {
        calls(2_000, "assignments");
    }

    @Test
    @Tag("soak")
    void everyAssignmentIsKeptOrCountedInManyConfigurations() {
        calls(100_000, "assignments at length");
    }

    /** The comparisons bite. */
    @Test
    void aRowTooManyOrTooFewAndAnExpertTwiceAreFound() {
        int[][] chosen = {{0, 1}, {1}, {1, 0}};
        boolean[][] right = {{true, true}, {true}, {false, true}};
        assertThat(fault(2, chosen, right, 0, 3, 2)).isEmpty();
        assertThat(fault(2, chosen, new boolean[][] {{true, true}, {true}, {true, true}}, 0, 3, 2))
                .hasValue("expert 1 took 3 of 3 at C 2");
        assertThat(fault(2, chosen, new boolean[][] {{true, true}, {false}, {false, true}}, 0, 3, 2))
                .hasValue("expert 1 took 1 of 3 at C 2");
        assertThat(fault(2, chosen, new boolean[][] {{false, true}, {true}, {false, true}}, 0, 3, 2))
                .hasValue("expert 0 took 1 of 2 at C 2");
        assertThat(fault(2, new int[] {1, 0}, 2, 2)).isEmpty();
        assertThat(fault(2, new int[] {1, 1}, 2, 2)).hasValue("expert 1 is none or twice");
        assertThat(fault(2, new int[] {2, 1}, 2, 2)).hasValue("expert 2 is none or twice");
        assertThat(fault(2, new int[] {1}, 2, 2)).hasValue("1 experts");
        assertThat(fault(4, new int[] {1, 0, 3}, 2, 2)).hasValue("3 experts");
    }
}
