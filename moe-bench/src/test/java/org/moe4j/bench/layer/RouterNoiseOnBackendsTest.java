package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.nd4j.Nd4jBackend.Precision;
import org.moe4j.core.nd4j.Nd4jBackend.Strategy;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.vector.VectorBackend;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.RouterNoise;
import org.moe4j.router.TopKRouter;

/** One seed gives the same noise on every backend, whatever its precision and the number of its workers. */
class RouterNoiseOnBackendsTest {
    private static final int TOKENS = 300;
    private static final int EXPERTS = 64;
    private static final RoutingContext SEEDED = new RoutingContext(Optional.empty(), List.of(), OptionalLong.of(11));

    static Stream<RouterNoise> onLogits() {
        return Stream.of(new RouterNoise.FixedNormal(1), new RouterNoise.LearnedNormal(.01));
    }

    private static List<Backend> backends() {
        List<Backend> all = new ArrayList<>();
        all.add(ReferenceBackend.instance());
        for (int workers : new int[] {1, 3}) {
            all.add(VectorBackend.float32().withWorkers(workers));
            all.add(VectorBackend.float64().withWorkers(workers));
            for (Precision precision : Precision.values()) {
                all.add(Nd4jBackend.of(precision, Strategy.HOST).withWorkers(workers));
            }
        }
        return all;
    }

    @ParameterizedTest
    @MethodSource("onLogits")
    void noiseOnLogitsHasTheSameBits(RouterNoise noise) {
        List<double[]> all = new ArrayList<>();
        for (Backend backend : backends()) {
            all.add(logits(backend, noise, new double[EXPERTS]));
        }
        assertThat(all).allSatisfy(logits -> assertThat(logits).isEqualTo(all.get(0)));
    }

    @ParameterizedTest
    @MethodSource("onLogits")
    void everyTokenAndExpertHasANumberOfItsOwn(RouterNoise noise) {
        double[] logits = logits(ReferenceBackend.instance(), noise, new double[EXPERTS]);
        assertThat(logits).doesNotContain(0).doesNotHaveDuplicates();
    }

    /** Jitter of the number 1 by a router of weights 1: the factors, which a float32 backend rounds. */
    @Test
    void jitterIsTheSameUpToTheRoundingOfTheBackend() {
        RouterNoise jitter = new RouterNoise.InputJitter(.25);
        double[] ones = new double[EXPERTS];
        Arrays.fill(ones, 1);
        double[] reference = logits(ReferenceBackend.instance(), jitter, ones);
        for (Backend backend : backends()) {
            double[] logits = logits(backend, jitter, ones);
            for (int i = 0; i < logits.length; i++) {
                double expected = backend.unitRoundoff() == 0x1p-24 ? (float) reference[i] : reference[i];
                assertThat(logits[i]).isEqualTo(expected);
            }
        }
    }

    private static double[] logits(Backend backend, RouterNoise noise, double[] weights) {
        double[] ones = new double[TOKENS];
        Arrays.fill(ones, 1);
        try (Matrix weight = backend.matrix(EXPERTS, 1, weights);
                Matrix tokens = backend.matrix(TOKENS, 1, ones);
                TopKRouter plain = TopKRouter.of(RouterConfig.topK(EXPERTS, 4), weight);
                TopKRouter router = plain.withNoise(noise)) {
            return router.route(tokens, SEEDED).logits();
        }
    }
}
