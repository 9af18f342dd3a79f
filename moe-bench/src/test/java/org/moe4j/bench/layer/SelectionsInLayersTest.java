package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.preset.Preset;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.SecondExpert;
import org.moe4j.router.TopKRouter;

/** Selections with a varying number of experts per token, in whole layers. */
class SelectionsInLayersTest {
    private static final Preset PRESET = Preset.named("olmo-study").scaledTo(24, 16);
    private static final Backend BACKEND = Nd4jBackend.float64();
    private static final RoutingContext SEEDED = new RoutingContext(Optional.empty(), List.of(), OptionalLong.of(3));

    static Stream<ExpertSelection> varying() {
        return Stream.of(
                new ExpertSelection.TopTwo(new SecondExpert.Random(.5)),
                new ExpertSelection.ExpertChoice(RowLimit.factor(1), CapacityScope.batch()));
    }

    private static RouterConfig config(ExpertSelection selection) {
        return RouterConfig.topK(48, 2).withSelection(selection).withRenormalization(new Renormalization.Sum());
    }

    @ParameterizedTest
    @MethodSource("varying")
    void mergesThatPresumeUnitSumsRefuseThem(ExpertSelection selection) {
        try (MoeLayer layer = layer(selection);
                MoeLayer both = layer(new ExpertSelection.TopTwo(new SecondExpert.All()));
                SwiGluExperts shared =
                        SwiGluExperts.random(ExpertShape.shared(PRESET).get(0), BACKEND, 3)) {
            ActiveWidths widths = new ActiveWidths(2, 16, shared.shape().intermediateSize());
            SharedBranch branch = SharedBranch.of(shared, ScaledMerge.olmo(widths));
            both.withShared(branch);
            assertThatThrownBy(() -> layer.withShared(branch))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("weights that sum to 1");
        }
    }

    @ParameterizedTest
    @MethodSource("varying")
    void applyIsForwardInThePlainContext(ExpertSelection selection) {
        try (MoeLayer layer = layer(selection);
                Matrix tokens = Initializer.normal(1).draw(BACKEND, 200, 24, 4);
                MoePass pass = layer.forward(tokens);
                Matrix output = pass.output();
                Matrix applied = layer.apply(tokens)) {
            assertThat(applied.toArray()).isEqualTo(output.toArray());
        }
    }

    @ParameterizedTest
    @MethodSource("varying")
    void tokensOfOneCallHaveVaryingNumbersOfExperts(ExpertSelection selection) {
        try (MoeLayer layer = layer(selection);
                Matrix tokens = Initializer.normal(1).draw(BACKEND, 200, 24, 4)) {
            Routing routing = layer.router().routing(tokens, SEEDED);
            assertThat(IntStream.range(0, 200).map(routing::count).distinct().count())
                    .isGreaterThan(1);
        }
    }

    @Test
    void weightsOnTheInputRefuseExpertChoiceWhateverItsMean() {
        RouterConfig one = RouterConfig.topK(48, 1)
                .withSelection(new ExpertSelection.ExpertChoice(RowLimit.factor(1), CapacityScope.batch()));
        try (MoeLayer layer = MoeLayer.of(
                TopKRouter.random(one, 24, BACKEND, 1), SwiGluExperts.random(ExpertShape.routed(PRESET), BACKEND, 2))) {
            assertThatThrownBy(() -> layer.withWeightPlace(WeightPlace.INPUT))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("experts.weightPlace: expected output (a number of experts that varies) but was input;"
                            + " a weight on the input takes one expert per token");
        }
    }

    private static MoeLayer layer(ExpertSelection selection) {
        return MoeLayer.of(
                TopKRouter.random(config(selection), 24, BACKEND, 1),
                SwiGluExperts.random(ExpertShape.routed(PRESET), BACKEND, 2));
    }
}
