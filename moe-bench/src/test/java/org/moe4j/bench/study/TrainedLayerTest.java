package org.moe4j.bench.study;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.optimizer.Sgd;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

final class TrainedLayerTest {
    private static final Backend EXACT = ReferenceBackend.instance();

    private static TrainedLayer layer() {
        MoeLayer start = MoeLayer.of(
                TopKRouter.random(RouterConfig.topK(2, 1), 3, EXACT, 1),
                SwiGluExperts.random(new ExpertShape(2, 3, 4), EXACT, 2));
        return new TrainedLayer(
                start,
                (name, value) -> name.startsWith("router")
                        ? Optional.empty()
                        : Optional.of(new Sgd(value.toArray(), new Sgd.Settings(0, 0, 0))));
    }

    /** Plain descent: θ − rate·(factor·g), with numbers that are products of powers of two. */
    @Test
    void aStepTakesGradientsTimesTheFactorAndTheRateOfEachName() {
        try (TrainedLayer trained = layer();
                Parameters before = trained.layer().parameters();
                Parameters gradients = trained.buffers()) {
            for (String name : gradients.names()) {
                Matrix buffer = gradients.get(name);
                double[] ones = new double[buffer.rows() * buffer.columns()];
                Arrays.fill(ones, 1);
                try (Matrix added = EXACT.matrix(buffer.rows(), buffer.columns(), ones)) {
                    EXACT.accumulate(1, buffer, 0, added);
                }
            }
            trained.step(gradients, 0.25, name -> name.endsWith("down") ? 2 : 0.5);
            try (Parameters after = trained.layer().parameters()) {
                assertThat(after.names()).isEqualTo(before.names()).hasSizeGreaterThan(6);
                for (String name : after.names()) {
                    double step = name.startsWith("router") ? 0 : name.endsWith("down") ? 0.5 : 0.125;
                    double[] expected = Arrays.stream(before.get(name).toArray())
                            .map(value -> value - step)
                            .toArray();
                    assertThat(after.get(name).toArray()).as(name).containsExactly(expected);
                }
            }
        }
    }

    @Test
    void whatDoesNotLearnHasNoOptimizer() {
        try (TrainedLayer trained = layer()) {
            assertThat(trained.learned())
                    .isEqualTo(trained.optimizers().keySet())
                    .contains("experts.0.down", "experts.1.gate")
                    .noneMatch(name -> name.startsWith("router"));
        }
    }
}
