package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.Capacity.Limited;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.dispatch.UnservedTokens;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.layer.TokenJitter;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.SharedScore;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.RouterNoise;
import org.moe4j.router.SecondExpert;
import org.moe4j.router.TopKRouter;

/** {@code apply} in a context is {@code forward} in it, in one chunk and in several. */
class ApplyInContextTest {
    private static final int EXPERTS = 3;
    private static final int SMALL = 5;
    private static final int WIDE = 100_000; // with which a chunk has 256 tokens
    private static final int TOKENS = 600;
    private static final int HIDDEN = 2;
    private static final RoutingContext CONTEXT =
            RoutingContext.plain().withSequences(100, 0, 480, 20).withSeed(7);
    private static final Limited CAPACITY =
            Capacity.factor(.7).withScope(CapacityScope.sequences()).withUnserved(UnservedTokens.PASSED_WEIGHTED);

    static Stream<Arguments> cases() {
        List<ExpertSelection> selections = List.of(
                new ExpertSelection.PlainTopK(),
                new ExpertSelection.TopTwo(new SecondExpert.Random(.5)),
                new ExpertSelection.TopTwo(new SecondExpert.Sampled()),
                new ExpertSelection.Sinkhorn(),
                new ExpertSelection.ExpertChoice(RowLimit.factor(1), CapacityScope.sequences()));
        return LayerChecks.backends().stream()
                .flatMap(backend -> selections.stream().map(selection -> Arguments.of(backend, selection)));
    }

    private static MoeLayer layer(
            Backend backend, ExpertSelection selection, int topK, Activation activation, int intermediate) {
        TopKRouter plain =
                TopKRouter.random(RouterConfig.topK(EXPERTS, topK).withSelection(selection), HIDDEN, backend, 1);
        ExpertShape shape = new ExpertShape(EXPERTS, 1, intermediate, activation, true);
        ExpertShape shared = new ExpertShape(1, HIDDEN, 3);
        try (plain;
                Matrix gate = Initializer.normal(1).draw(backend, 1, HIDDEN, 5)) {
            return MoeLayer.of(
                            plain.withNoise(new RouterNoise.LearnedNormal(.01)),
                            FeedForwardExperts.random(shape, backend, 2),
                            LatentProjections.random(HIDDEN, 1, backend, 3))
                    .withShared(SharedBranch.of(
                            FeedForwardExperts.random(shared, backend, 4), new GatedMerge(gate, SharedScore.SIGMOID)))
                    .withTokenJitter(new TokenJitter(.2))
                    .withCapacity(CAPACITY);
        }
    }

    private static double[] forward(MoeLayer layer, Matrix tokens, RoutingContext context) {
        try (MoePass pass = layer.forward(tokens, context);
                Matrix output = pass.output()) {
            return output.toArray();
        }
    }

    private static void assertSame(MoeLayer layer, Matrix tokens, RoutingContext context) {
        Backend backend = tokens.backend();
        double tolerance = Tolerance.layer(HIDDEN, SMALL, backend.unitRoundoff());
        double[] expected = forward(layer, tokens, context);
        try (Matrix applied = layer.apply(tokens, context);
                Matrix into = backend.buffer(tokens.rows(), tokens.columns())) {
            Tolerance.assertWithinMaxNorm("apply", applied.toArray(), expected, tolerance);
            layer.applyInto(tokens, context, into);
            assertThat(into.toArray()).isEqualTo(applied.toArray());
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void equalsForwardWithNoiseJitterAndSequences(Backend backend, ExpertSelection selection) {
        try (MoeLayer layer = layer(backend, selection, 2, new Activation.GeluExact(), SMALL);
                Matrix tokens = Initializer.normal(1).draw(backend, TOKENS, HIDDEN, 6)) {
            assertSame(layer, tokens, CONTEXT);
            assertSame(layer, tokens, RoutingContext.plain());
            double[] noisy = forward(layer, tokens, CONTEXT);
            assertThat(forward(layer, tokens, CONTEXT.withSeed(8))).isNotEqualTo(noisy);
            assertThat(forward(layer, tokens, RoutingContext.plain().withSeed(7)))
                    .isNotEqualTo(noisy); // one sequence
            try (Matrix plain = layer.apply(tokens);
                    Matrix inContext = layer.apply(tokens, RoutingContext.plain())) {
                assertThat(plain.toArray()).isEqualTo(inContext.toArray());
            }
        }
    }

    @ParameterizedTest
    @MethodSource("org.moe4j.bench.layer.LayerChecks#fastBackends")
    void chunksAreWhatOneRunIs(Backend backend) {
        try (MoeLayer layer = layer(backend, new ExpertSelection.PlainTopK(), 1, new Activation.Relu(), WIDE);
                MoeLayer inputs = layer.withWeightPlace(WeightPlace.INPUT);
                Matrix tokens = Initializer.normal(1).draw(backend, 300, HIDDEN, 6)) {
            RoutingContext context =
                    RoutingContext.plain().withSequences(100, 0, 190, 10).withSeed(7);
            for (MoeLayer one : List.of(layer, inputs)) {
                double[] expected = forward(one, tokens, context);
                try (Matrix applied = one.apply(tokens, context)) { // products of other shapes round differently
                    Tolerance.assertWithinMaxNorm(
                            "chunks",
                            applied.toArray(),
                            expected,
                            Tolerance.layer(HIDDEN, WIDE, backend.unitRoundoff()));
                }
            }
        }
    }

    @Test
    void aContextOfOtherRowsIsRefused() {
        Backend backend = ReferenceBackend.instance();
        try (MoeLayer layer = layer(backend, new ExpertSelection.PlainTopK(), 1, new Activation.GeluExact(), SMALL);
                Matrix tokens = Initializer.normal(1).draw(backend, 4, HIDDEN, 6);
                Matrix output = backend.buffer(4, HIDDEN)) {
            RoutingContext five = RoutingContext.plain().withSequences(5);
            String message = "context.sequenceLengths: expected 4 rows in all (tokens) but was 5";
            assertThatThrownBy(() -> layer.apply(tokens, five)).hasMessage(message);
            assertThatThrownBy(() -> layer.applyInto(tokens, five, output)).hasMessage(message);
            RoutingContext masked =
                    RoutingContext.plain().withValid(RowMask.of(new boolean[] {true, false, true, true}));
            assertSame(layer, tokens, masked);
        }
    }
}
