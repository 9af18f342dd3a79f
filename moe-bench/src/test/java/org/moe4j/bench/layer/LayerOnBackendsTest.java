package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.core.vector.VectorBackend;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;
import org.moe4j.merge.rewrite.Collapsibility;
import org.moe4j.merge.rewrite.DownFit;
import org.moe4j.merge.rewrite.SharedBranchCollapse;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** What a whole layer promises of its backends: the same bits for any number of workers, and no mixing. */
class LayerOnBackendsTest {
    private static final Preset PRESET = Preset.named("olmo-study").scaledTo(160, 136);
    private static final int TOKENS = 300; // enough work that every phase really runs on several threads

    private static MoeLayer layer(Backend backend) {
        return MoeLayer.of(
                        TopKRouter.random(RouterConfig.from(PRESET), 160, backend, 1),
                        SwiGluExperts.random(ExpertShape.routed(PRESET), backend, 2))
                .withShared(SharedBranch.of(
                        SwiGluExperts.random(ExpertShape.shared(PRESET).get(0), backend, 3),
                        ScaledMerge.olmo(ActiveWidths.of(PRESET))));
    }

    /** Everything one forward and backward gives, as bits. */
    private static List<double[]> everything(Backend backend) {
        List<double[]> values = new ArrayList<>();
        try (MoeLayer layer = layer(backend);
                Matrix tokens = Initializer.normal(1).draw(backend, TOKENS, 160, 4);
                Matrix dOutput = Initializer.normal(1).draw(backend, TOKENS, 160, 5);
                MoePass pass = layer.forward(tokens);
                Matrix output = pass.output();
                Matrix applied = layer.apply(tokens);
                Gradients gradients = pass.backward(dOutput)) {
            values.add(output.toArray());
            values.add(applied.toArray());
            values.add(gradients.input().toArray());
            for (String name : gradients.parameters().names()) {
                values.add(gradients.parameters().get(name).toArray());
            }
        }
        return values;
    }

    static Stream<IntFunction<Backend>> withWorkers() {
        return Stream.of(
                VectorBackend.float32()::withWorkers,
                VectorBackend.float64()::withWorkers,
                Nd4jBackend.float32()::withWorkers,
                Nd4jBackend.float64()::withWorkers);
    }

    @ParameterizedTest
    @MethodSource("withWorkers")
    void theSameBitsRunAfterRunAndForAnyNumberOfWorkers(IntFunction<Backend> withWorkers) {
        List<double[]> one = everything(withWorkers.apply(1));
        assertThat(one).hasSize(3 + 1 + 3 * 49);
        for (int workers : new int[] {1, 2, 4, 2}) {
            List<double[]> again = everything(withWorkers.apply(workers));
            for (int i = 0; i < one.size(); i++) {
                assertThat(again.get(i))
                        .as("value %d with %d workers", i, workers)
                        .isEqualTo(one.get(i));
            }
        }
    }

    @Test
    void mixedBackendsAreRefusedWithTheWayOut() {
        Backend reference = ReferenceBackend.instance();
        Backend fast = Nd4jBackend.float64();
        try (MoeLayer layer = layer(fast);
                Matrix tokens = Initializer.normal(1).draw(reference, 2, 160, 4);
                Matrix right = fast.copyOf(tokens);
                MoePass pass = layer.forward(right)) {
            assertThatThrownBy(() -> layer.forward(tokens))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("tokens: expected a matrix of Nd4jBackend[float64] but was one of ReferenceBackend; "
                            + "convert it with backend.copyOf(tokens)");
            assertThatThrownBy(() -> pass.backward(tokens))
                    .hasMessage("dOutput: expected a matrix of Nd4jBackend[float64] but was one of ReferenceBackend; "
                            + "convert it with backend.copyOf(dOutput)");
            assertThatThrownBy(() -> MoeLayer.of(
                            TopKRouter.random(RouterConfig.from(PRESET), 160, reference, 1), layer.experts()))
                    .hasMessageStartingWith("router.weight: expected a matrix of Nd4jBackend[float64]");
            Parameters mixed = layer.parameters()
                    .map((name, value) -> name.equals("experts.3.up") ? reference.copyOf(value) : value);
            assertThatThrownBy(() -> layer.withParameters(mixed))
                    .hasMessageStartingWith("3.up: expected a matrix of Nd4jBackend[float64]");
            pass.output().close();
        }
    }

    /** Verdict and fit see the weights, in double, wherever they are; the rewritten layer differs by the backend's rounding. */
    @ParameterizedTest
    @MethodSource("org.moe4j.bench.layer.LayerChecks#backends")
    void aSharedBranchIsJudgedAndCollapsedOnEveryBackend(Backend backend) {
        try (MoeLayer one = layer(backend);
                MoeLayer several = SharedBranchCollapse.split(one, 20, 31, 17);
                MoeLayer again = SharedBranchCollapse.collapse(several);
                GatedMerge gates = GatedMerge.random(3, 160, SharedScore.SOFTMAX, backend, 6);
                Matrix tokens = Initializer.normal(1).draw(backend, TOKENS, 160, 4)) {
            SharedBranch branch = several.shared().orElseThrow();
            assertThat(Collapsibility.of(several).trainsAlike()).isTrue();
            assertThat(DownFit.of(several, tokens).residual()).isLessThan(1e-13);
            try (Matrix expected = several.apply(tokens);
                    Matrix actual = again.apply(tokens)) {
                Tolerance.assertWithinMaxNorm(
                        "collapsed",
                        actual.toArray(),
                        expected.toArray(),
                        Tolerance.layer(160, 136, backend.unitRoundoff()));
            }
            MoeLayer gated = several.withShared(new SharedBranch(branch.experts(), gates));
            assertThat(DownFit.of(gated, tokens).residual()).isBetween(0.01, 1.0);
        }
    }
}
