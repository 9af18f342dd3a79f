package org.moe4j.core.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity.Limited;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;

class DispatchPlanTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();

    static LongStream seeds() {
        return LongStream.range(0, 100);
    }

    /** A random routing with any number of experts per token, none included. */
    private static Routing routing(SplittableRandom random) {
        int experts = random.nextInt(1, 8);
        int tokens = random.nextInt(0, 12);
        int[] offsets = new int[tokens + 1];
        List<Integer> chosen = new ArrayList<>();
        for (int t = 0; t < tokens; t++) {
            for (int e = 0; e < experts; e++) {
                if (random.nextInt(3) == 0) {
                    chosen.add(e);
                }
            }
            offsets[t + 1] = chosen.size();
        }
        double[] weights = new double[chosen.size()];
        for (int i = 0; i < weights.length; i++) {
            weights[i] = random.nextDouble(-1, 1);
        }
        return Routing.ofVarying(
                experts, offsets, chosen.stream().mapToInt(e -> e).toArray(), weights);
    }

    private static Capacity capacity(SplittableRandom random) {
        return random.nextInt(4) == 0 ? Capacity.dropless() : limited(random);
    }

    private static Limited limited(SplittableRandom random) {
        CapacityScope scope = random.nextBoolean() ? CapacityScope.batch() : CapacityScope.groups(random.nextInt(1, 7));
        return Capacity.factor(random.nextDouble(0.2, 2))
                .withScope(scope)
                .withOrder(one(random, DropOrder.values()))
                .withKeptWeights(one(random, KeptWeights.values()))
                .withUnserved(one(random, UnservedTokens.values()));
    }

    private static <T> T one(SplittableRandom random, T[] values) {
        return values[random.nextInt(values.length)];
    }

    private static Matrix random(SplittableRandom random, int rows, int columns) {
        double[] values = new double[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = random.nextDouble(-1, 1);
        }
        return BACKEND.matrix(rows, columns, values);
    }

    private static double inner(Matrix a, Matrix b) {
        double sum = 0;
        for (double dot : BACKEND.rowDots(a, b)) {
            sum += dot;
        }
        return sum;
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void everyKeptSlotHasOneRowOfItsExpert(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Routing routing = routing(random);
        Capacity capacity = capacity(random);
        DispatchPlan plan = DispatchPlan.of(routing, capacity);
        List<List<Integer>> tokensOf = new ArrayList<>();
        for (int e = 0; e < routing.experts(); e++) {
            tokensOf.add(new ArrayList<>());
        }
        int dropped = 0;
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                assertThat(plan.isDropped(t, rank)).isEqualTo(plan.admission().isDropped(t, rank));
                if (plan.isDropped(t, rank)) {
                    dropped++;
                } else {
                    tokensOf.get(routing.expert(t, rank)).add(t);
                }
            }
        }
        assertThat(plan.dropped()).isEqualTo(dropped);
        assertThat(plan.groups().rows()).isEqualTo(routing.slots() - dropped);
        for (int e = 0; e < routing.experts(); e++) {
            List<Integer> rows = new ArrayList<>();
            for (int row = plan.groups().from(e); row < plan.groups().to(e); row++) {
                rows.add(plan.rows()[row]);
            }
            assertThat(rows).isEqualTo(tokensOf.get(e));
        }
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void dispatchAndItsBackwardAreAdjoint(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Routing routing = routing(random);
        DispatchPlan plan = DispatchPlan.of(routing, capacity(random));
        Matrix x = random(random, routing.tokens(), 3);
        Matrix y = random(random, plan.groups().rows(), 3);
        assertThat(inner(plan.dispatch(x), y)).isCloseTo(inner(x, plan.dispatchBackward(y)), within(1e-13));
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void combineAndItsBackwardAreAdjoint(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Routing routing = routing(random);
        Capacity capacity = capacity(random);
        DispatchPlan plan = DispatchPlan.of(routing, capacity);
        Matrix y = random(random, plan.groups().rows(), 3);
        Matrix d = random(random, routing.tokens(), 3);
        DispatchPlan.CombineGradients gradients = plan.combineBackward(y, d);
        double value = inner(plan.combine(y), d);
        assertThat(value).isCloseTo(inner(y, gradients.expertOutputs()), within(1e-13));
        // combine is linear in the weights too: Σ w · dw is the same number, dropped slots giving nothing
        double throughRouting = 0;
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                double dWeight = gradients.weights()[routing.slot(t, rank)];
                throughRouting += routing.weight(t, rank) * dWeight;
                if (plan.isDropped(t, rank)) {
                    assertThat(dWeight).isZero();
                    assertThat(plan.admission().weight(t, rank)).isZero();
                }
            }
        }
        // a weight divided by a sum does not change when all are multiplied by one number
        boolean divided = capacity instanceof Limited limited && limited.keptWeights() == KeptWeights.UNIT_SUM;
        assertThat(throughRouting).isCloseTo(divided ? 0 : value, within(divided ? 1e-8 : 1e-13));
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void gradientsOfWeightsAreDifferences(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Routing routing = positive(routing(random), random);
        Limited limited = limited(random);
        DispatchPlan plan = DispatchPlan.of(routing, limited);
        Matrix x = random(random, routing.tokens(), 3);
        Matrix y = random(random, plan.groups().rows(), 3);
        Matrix d = random(random, routing.tokens(), 3);
        double[] analytic = plan.combineBackward(y, d).weights();
        plan.addPassedWeights(analytic, x, d);
        double[] weights = new double[routing.slots()];
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                weights[routing.slot(t, rank)] = routing.weight(t, rank);
            }
        }
        double[] numeric = FiniteDifferences.gradient(
                at -> {
                    DispatchPlan moved = DispatchPlan.of(with(routing, at), limited);
                    assertThat(moved.rows()).as("a draw without near ties").isEqualTo(plan.rows());
                    return inner(moved.addPassed(moved.combine(y), x), d);
                },
                weights);
        assertThat(FiniteDifferences.worst(analytic, numeric, FiniteDifferences.norm(analytic)))
                .isLessThanOrEqualTo(1);
    }

    /** Positive weights that are further apart than the steps of differences. */
    private static Routing positive(Routing routing, SplittableRandom random) {
        double[] weights = new double[routing.slots()];
        for (int i = 0; i < weights.length; i++) {
            weights[i] = 0.1 + 0.01 * i;
        }
        for (int i = weights.length - 1; i > 0; i--) {
            int j = random.nextInt(i + 1);
            double swapped = weights[i];
            weights[i] = weights[j];
            weights[j] = swapped;
        }
        return with(routing, weights);
    }

    private static Routing with(Routing routing, double[] weights) {
        int[] offsets = new int[routing.tokens() + 1];
        int[] chosen = new int[routing.slots()];
        for (int t = 0; t < routing.tokens(); t++) {
            offsets[t + 1] = offsets[t] + routing.count(t);
            for (int rank = 0; rank < routing.count(t); rank++) {
                chosen[offsets[t] + rank] = routing.expert(t, rank);
            }
        }
        return Routing.ofVarying(routing.experts(), offsets, chosen, weights);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void passingThroughIsItsOwnAdjoint(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Routing routing = routing(random);
        DispatchPlan plan = DispatchPlan.of(routing, limited(random));
        Matrix x = random(random, routing.tokens(), 3);
        Matrix d = random(random, routing.tokens(), 3);
        Matrix zero = BACKEND.buffer(routing.tokens(), 3);
        assertThat(inner(plan.addPassed(zero.share(), x), d))
                .isCloseTo(inner(x, plan.addPassed(zero.share(), d)), within(1e-13));
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void partsGiveWhatTheWholeGives(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Routing routing = routing(random);
        Capacity capacity = capacity(random);
        DispatchPlan whole = DispatchPlan.of(routing, capacity);
        Matrix tokens = random(random, routing.tokens(), 3);
        double[] expected =
                whole.addPassed(whole.combine(whole.dispatch(tokens)), tokens).toArray();
        int cut = routing.tokens() == 0 ? 0 : random.nextInt(routing.tokens() + 1);
        double[] actual = new double[expected.length];
        int dropped = 0;
        for (int[] part : new int[][] {{0, cut}, {cut, routing.tokens()}}) {
            DispatchPlan plan = DispatchPlan.ofTokens(whole.admission(), part[0], part[1]);
            double[] values =
                    plan.addPassed(plan.combine(plan.dispatch(tokens)), tokens).toArray();
            System.arraycopy(values, 0, actual, part[0] * 3, values.length);
            dropped += plan.dropped();
        }
        assertThat(actual).isEqualTo(expected);
        assertThat(dropped).isEqualTo(whole.dropped());
    }

    @Test
    void identityExpertsWithUnitWeightsGiveTheTokensBack() {
        SplittableRandom random = new SplittableRandom(1);
        Routing routing = Routing.of(3, 2, new int[] {0, 2, 2, 1}, new double[] {.25, .75, .5, .5});
        DispatchPlan plan = DispatchPlan.of(routing, Capacity.dropless());
        Matrix tokens = random(random, 2, 5);
        assertThat(plan.combine(plan.dispatch(tokens)).toArray()).containsExactly(tokens.toArray(), within(1e-15));
    }

    @Test
    void refusesMatricesOfOtherSizes() {
        DispatchPlan plan =
                DispatchPlan.of(Routing.of(2, 1, new int[] {0, 1}, new double[] {1, 1}), Capacity.dropless());
        Matrix three = BACKEND.buffer(3, 4);
        Matrix two = BACKEND.buffer(2, 4);
        assertThatThrownBy(() -> plan.dispatch(three))
                .hasMessage("tokens: expected 2 rows (tokens of the routing) but was 3");
        assertThatThrownBy(() -> plan.combine(three))
                .hasMessage("expertOutputs: expected 2 rows (rows of the plan) but was 3");
        assertThatThrownBy(() -> plan.dispatchBackward(three))
                .hasMessage("dGrouped: expected 2 rows (rows of the plan) but was 3");
        assertThatThrownBy(() -> plan.combineBackward(two, three))
                .hasMessage("dOutput: expected 2 rows (tokens of the plan) but was 3");
        assertThatThrownBy(() -> plan.addPassed(three, two))
                .hasMessage("routed: expected 2 rows (tokens of the plan) but was 3");
        assertThatThrownBy(() -> plan.addPassed(two, three))
                .hasMessage("tokens: expected 2 rows (tokens of the routing) but was 3");
        assertThatThrownBy(() -> plan.admission().backward(new double[3]))
                .hasMessage("dWeights: expected 2 numbers (one per slot) but was 3");
    }

    @Test
    void partsLieWithinTheTokens() {
        Routing routing = Routing.of(2, 1, new int[] {0, 1}, new double[] {1, 1});
        Admission admission = DispatchPlan.of(routing, Capacity.dropless()).admission();
        assertThatThrownBy(() -> DispatchPlan.ofTokens(admission, 2, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        DispatchPlan second = DispatchPlan.ofTokens(admission, 1, 2);
        assertThat(second.isDropped(1, 0)).isFalse();
        assertThatThrownBy(() -> second.isDropped(0, 0)).isInstanceOf(IndexOutOfBoundsException.class);
    }
}
