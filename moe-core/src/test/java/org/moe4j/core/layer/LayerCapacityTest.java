package org.moe4j.core.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.Capacity.Limited;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.DropOrder;
import org.moe4j.core.dispatch.KeptWeights;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.dispatch.UnservedTokens;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;

/** What capacity does to a whole layer: the weights of what is kept, and tokens that no expert took. */
class LayerCapacityTest {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final int WIDTH = 4;

    private static SwiGluExperts experts(int count) {
        return SwiGluExperts.random(new ExpertShape(count, WIDTH, 5), BACKEND, 1);
    }

    /** Every token wants expert 0 with a weight of its own; one row each is all there is. */
    private static MoeLayer crowded(UnservedTokens unserved) {
        Routing routing = Routing.of(2, 1, new int[] {0, 0, 0}, new double[] {.5, .25, .75});
        return MoeLayer.of(new FixedRouter(routing), experts(2))
                .withCapacity(Capacity.of(RowLimit.rows(1)).withUnserved(unserved));
    }

    private static Matrix tokens(int count, long seed) {
        return Initializer.normal(1).draw(BACKEND, count, WIDTH, seed);
    }

    @ParameterizedTest
    @EnumSource(UnservedTokens.class)
    void aTokenThatNoExpertTookIsWhatIsSaid(UnservedTokens unserved) {
        Matrix tokens = tokens(3, 3);
        MoeLayer layer = crowded(unserved);
        MoePass pass = layer.forward(tokens);
        double[] factors =
                switch (unserved) {
                    case ZERO -> new double[] {0, 0, 0};
                    case PASSED -> new double[] {0, 1, 1};
                    case PASSED_WEIGHTED -> new double[] {0, .25, .75};
                };
        for (int t = 1; t < 3; t++) {
            for (int i = 0; i < WIDTH; i++) {
                assertThat(pass.output().get(t, i)).isEqualTo(factors[t] * tokens.get(t, i));
            }
            assertThat(pass.coefficients().routed(t, 0)).isZero();
            assertThat(pass.coefficients().passed(t)).isEqualTo(factors[t]);
        }
        assertThat(pass.coefficients().routed(0, 0)).isEqualTo(.5);
        assertThat(pass.coefficients().passed(0)).isZero();
        assertThat(pass.droppedAssignments()).isEqualTo(2);
        assertThat(layer.apply(tokens).toArray()).isEqualTo(pass.output().toArray());
    }

    @Test
    void theMergeMultipliesWhatPassesThrough() {
        Matrix tokens = tokens(3, 3);
        MoeLayer plain = crowded(UnservedTokens.PASSED);
        SwiGluExperts shared = SwiGluExperts.random(new ExpertShape(1, WIDTH, 3), BACKEND, 2);
        MoeLayer merged = plain.withShared(SharedBranch.of(shared, new WeightedMerge()));
        MoePass pass = merged.forward(tokens);
        double[] zero = crowded(UnservedTokens.ZERO)
                .withShared(SharedBranch.of(shared, new WeightedMerge()))
                .apply(tokens)
                .toArray();
        for (int i = 0; i < WIDTH; i++) {
            assertThat(pass.output().get(1, i) - zero[WIDTH + i]).isCloseTo(2 * tokens.get(1, i), within(1e-14));
        }
        assertThat(pass.coefficients().passed(1)).isEqualTo(2);
    }

    static LongStream seeds() {
        return LongStream.range(0, 60);
    }

    /** Tokens with none to all experts, in ranks of any order. */
    private static WeighingRouter router(SplittableRandom random, int tokens) {
        int experts = random.nextInt(1, 5);
        int[] offsets = new int[tokens + 1];
        int[] chosen = new int[tokens * experts];
        for (int t = 0; t < tokens; t++) {
            int turn = random.nextInt(experts);
            int count = random.nextInt(experts + 1);
            for (int rank = 0; rank < count; rank++) {
                chosen[offsets[t] + rank] = (turn + rank) % experts;
            }
            offsets[t + 1] = offsets[t] + count;
        }
        double[][] directions = new double[offsets[tokens]][WIDTH];
        for (double[] direction : directions) {
            Arrays.setAll(direction, i -> random.nextDouble(-0.2, 0.2));
        }
        int[] slots = Arrays.copyOf(chosen, offsets[tokens]);
        return new WeighingRouter(Routing.ofVarying(experts, offsets, slots, new double[slots.length]), 1, directions);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void gradientsAreDifferencesWhateverIsDropped(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int count = random.nextInt(1, 9);
        WeighingRouter router = router(random, count);
        Limited capacity = Capacity.factor(random.nextDouble(0.2, 1.2))
                .withScope(random.nextBoolean() ? CapacityScope.sequences() : CapacityScope.groups(3))
                .withOrder(one(random, DropOrder.values()))
                .withKeptWeights(one(random, KeptWeights.values()))
                .withUnserved(one(random, UnservedTokens.values()));
        RoutingContext context =
                new RoutingContext(Optional.empty(), List.of(count / 2, 0, count - count / 2), OptionalLong.empty());
        Matrix tokens = tokens(count, seed);
        Matrix d = tokens(count, -seed - 1);
        MoeLayer layer = MoeLayer.of(router, experts(router.experts())).withCapacity(capacity);
        Gradients gradients = layer.forward(tokens, context).backward(d);
        double[] numeric = FiniteDifferences.gradient(
                at -> dot(layer.forward(BACKEND.matrix(count, WIDTH, at), context), d), tokens.toArray());
        double[] gate = layer.parameters().get("experts.0.gate").toArray();
        double[] numericGate = FiniteDifferences.gradient(
                at -> {
                    Matrix moved = BACKEND.matrix(5, WIDTH, at);
                    Parameters changed = layer.parameters()
                            .map((name, matrix) -> name.equals("experts.0.gate") ? moved.share() : matrix.share());
                    return dot(layer.withParameters(changed).forward(tokens, context), d);
                },
                gate);
        double[] analyticGate = gradients.parameters().get("experts.0.gate").toArray();
        double norm = FiniteDifferences.norm(gradients.input().toArray(), analyticGate);
        assertThat(FiniteDifferences.worst(gradients.input().toArray(), numeric, norm))
                .isLessThanOrEqualTo(1);
        assertThat(FiniteDifferences.worst(analyticGate, numericGate, norm)).isLessThanOrEqualTo(1);
    }

    private static <T> T one(SplittableRandom random, T[] values) {
        return values[random.nextInt(values.length)];
    }

    private static double dot(MoePass pass, Matrix d) {
        return Arrays.stream(BACKEND.rowDots(pass.output(), d)).sum();
    }

    @ParameterizedTest
    @EnumSource(DropOrder.class)
    void chunksGiveWhatOnePassGives(DropOrder order) {
        // 2²⁶ numbers of scratch at K 2, D 1, F 44,000 bound a chunk to 256 tokens
        int count = 300;
        SplittableRandom random = new SplittableRandom(1);
        int[] chosen = new int[2 * count];
        double[] weights = new double[2 * count];
        for (int t = 0; t < count; t++) {
            chosen[2 * t] = random.nextInt(3);
            chosen[2 * t + 1] = (chosen[2 * t] + 1) % 3;
            weights[2 * t] = random.nextDouble();
            weights[2 * t + 1] = random.nextDouble();
        }
        Limited capacity = Capacity.factor(.5)
                .withOrder(order)
                .withKeptWeights(KeptWeights.UNIT_SUM)
                .withUnserved(UnservedTokens.PASSED_WEIGHTED);
        SwiGluExperts wide = SwiGluExperts.random(new ExpertShape(3, 1, 44_000), BACKEND, 1);
        MoeLayer layer = MoeLayer.of(new FixedRouter(Routing.of(3, 2, chosen, weights)), wide)
                .withCapacity(capacity);
        Matrix many = Initializer.normal(1).draw(BACKEND, count, 1, 5);
        MoePass pass = layer.forward(many);
        assertThat(pass.droppedAssignments()).isEqualTo(count);
        assertThat(layer.apply(many).toArray()).isEqualTo(pass.output().toArray());
    }

    @Test
    void sequencesComeFromTheContext() {
        Routing routing = Routing.of(2, 1, new int[] {0, 0, 0}, new double[] {.5, .25, .75});
        MoeLayer layer = MoeLayer.of(new FixedRouter(routing), experts(2))
                .withCapacity(Capacity.of(RowLimit.rows(1)).withScope(CapacityScope.sequences()));
        Matrix tokens = tokens(3, 3);
        assertThat(layer.forward(tokens).droppedAssignments()).isEqualTo(2);
        RoutingContext two = new RoutingContext(Optional.empty(), List.of(1, 2), OptionalLong.empty());
        assertThat(layer.forward(tokens, two).droppedAssignments()).isEqualTo(1);
    }

    @Test
    void weightsOfUnitSumRefuseARouterWithAScale() {
        Routing routing = Routing.of(2, 1, new int[] {0, 1}, new double[] {1, 1});
        double[] direction = new double[WIDTH];
        MoeLayer scaled = MoeLayer.of(new WeighingRouter(routing, 2.5, direction, direction), experts(2));
        Limited unitSum = Capacity.factor(1).withKeptWeights(KeptWeights.UNIT_SUM);
        assertThatThrownBy(() -> scaled.withCapacity(unitSum))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "router: expected scale 1 (kept weights of the capacity add up to 1 and would lose it) but was"
                                + " 2.5; take KeptWeights.UNCHANGED");
        assertThat(scaled.withCapacity(Capacity.factor(1)).capacity()).isEqualTo(Capacity.factor(1));
    }
}
