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
import org.moe4j.core.reference.ReferenceBackend;

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
        return random.nextBoolean() ? Capacity.dropless() : Capacity.factor(random.nextDouble(0.2, 2));
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
        // the definition: walk the slots in order, an expert takes rows until it is full
        int[] taken = new int[routing.experts()];
        List<List<Integer>> tokensOf = new ArrayList<>();
        for (int e = 0; e < routing.experts(); e++) {
            tokensOf.add(new ArrayList<>());
        }
        int dropped = 0;
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                int expert = routing.expert(t, rank);
                boolean keep = taken[expert] < capacity.rowsPerExpert(routing);
                assertThat(plan.isDropped(t, rank)).isEqualTo(!keep);
                if (keep) {
                    taken[expert]++;
                    tokensOf.get(expert).add(t);
                } else {
                    dropped++;
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
        DispatchPlan plan = DispatchPlan.of(routing, capacity(random));
        Matrix y = random(random, plan.groups().rows(), 3);
        Matrix d = random(random, routing.tokens(), 3);
        DispatchPlan.CombineGradients gradients = plan.combineBackward(y, d);
        double value = inner(plan.combine(y), d);
        assertThat(value).isCloseTo(inner(y, gradients.expertOutputs()), within(1e-13));
        // combine is linear in the weights too: Σ w · dw is the same number, dropped slots giving nothing
        double throughWeights = 0;
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                double dWeight = gradients.weights()[routing.slot(t, rank)];
                throughWeights += routing.weight(t, rank) * dWeight;
                if (plan.isDropped(t, rank)) {
                    assertThat(dWeight).isZero();
                }
            }
        }
        assertThat(value).isCloseTo(throughWeights, within(1e-13));
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void partsGiveWhatTheWholeGives(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Routing routing = routing(random);
        Capacity capacity = capacity(random);
        DispatchPlan whole = DispatchPlan.of(routing, capacity);
        Matrix tokens = random(random, routing.tokens(), 3);
        double[] expected = whole.combine(whole.dispatch(tokens)).toArray();
        int cut = routing.tokens() == 0 ? 0 : random.nextInt(routing.tokens() + 1);
        double[] actual = new double[expected.length];
        int dropped = 0;
        for (int[] part : new int[][] {{0, cut}, {cut, routing.tokens()}}) {
            DispatchPlan plan = DispatchPlan.ofTokens(routing, capacity, part[0], part[1]);
            double[] values = plan.combine(plan.dispatch(tokens)).toArray();
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
    }

    @Test
    void partsLieWithinTheTokens() {
        Routing routing = Routing.of(2, 1, new int[] {0, 1}, new double[] {1, 1});
        assertThatThrownBy(() -> DispatchPlan.ofTokens(routing, Capacity.dropless(), 2, 1))
                .isInstanceOf(IndexOutOfBoundsException.class);
        DispatchPlan second = DispatchPlan.ofTokens(routing, Capacity.dropless(), 1, 2);
        assertThat(second.isDropped(1, 0)).isFalse();
        assertThatThrownBy(() -> second.isDropped(0, 0)).isInstanceOf(IndexOutOfBoundsException.class);
    }
}
