package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.router.loss.LoadBalancingLoss;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.VariationLoss;
import org.moe4j.router.loss.ZLoss;

/** Losses of routers with noise: the gradients of weight, noise weight and tokens, through logits before and after noise and through deviations. */
class NoisyLossesTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final int TOKENS = 5;
    private static final int HIDDEN = 3;
    private static final int EXPERTS = 4;
    private static final RouterConfig CONFIG =
            RouterConfig.topK(EXPERTS, 2).withRenormalization(new Renormalization.SoftmaxOfSelected());
    private static final RoutingContext SEEDED = new RoutingContext(
            Optional.of(RowMask.of(new boolean[] {true, true, false, true, true})), List.of(2, 3), OptionalLong.of(17));
    private static final double[] X = numbers(1, TOKENS, 1.5);
    private static final double[] W = numbers(2, EXPERTS, 1.5);
    private static final double[] N = numbers(3, EXPERTS, 1.5);

    private static double[] numbers(long seed, int rows, double bound) {
        return new SplittableRandom(seed)
                .doubles((long) rows * HIDDEN, -bound, bound)
                .toArray();
    }

    static Stream<RouterLoss> losses() {
        return Stream.of(
                VariationLoss.shazeerImportance(0.5),
                VariationLoss.shazeerLoad(0.5),
                VariationLoss.vMoeImportance(0.5),
                VariationLoss.vMoeLoad(0.5),
                LoadBalancingLoss.switchTransformer(0.5),
                new ZLoss(0.5));
    }

    private static TopKPass pass(RouterNoise noise, RouterLoss loss, double[] x, double[] w, double[] n) {
        TopKRouter plain = TopKRouter.of(CONFIG, BACKEND.matrix(EXPERTS, HIDDEN, w));
        TopKRouter noisy = noise instanceof RouterNoise.LearnedNormal learned
                ? plain.withNoise(learned, BACKEND.matrix(EXPERTS, HIDDEN, n))
                : plain.withNoise(noise);
        return noisy.withLosses(loss).route(BACKEND.matrix(TOKENS, HIDDEN, x), SEEDED);
    }

    @ParameterizedTest
    @MethodSource("losses")
    void learnedNoiseHasItsPart(RouterLoss loss) {
        RouterNoise noise = new RouterNoise.LearnedNormal(0.01);
        double[] dX = FiniteDifferences.gradient(x -> pass(noise, loss, x, W, N).auxiliaryLoss(), X);
        double[] dW = FiniteDifferences.gradient(w -> pass(noise, loss, X, w, N).auxiliaryLoss(), W);
        double[] dN = FiniteDifferences.gradient(n -> pass(noise, loss, X, W, n).auxiliaryLoss(), N);
        double norm = FiniteDifferences.norm(dX, dW, dN);
        assertThat(norm).isPositive();
        try (Gradients d = pass(noise, loss, X, W, N).backward(new double[TOKENS * 2], new double[0])) {
            check(d.input(), dX, norm);
            check(d.parameters().get("weight"), dW, norm);
            check(d.parameters().get("noise"), dN, norm);
        }
    }

    @ParameterizedTest
    @MethodSource("losses")
    void fixedNoiseHasNone(RouterLoss loss) {
        RouterNoise noise = new RouterNoise.FixedNormal(4);
        double[] dX = FiniteDifferences.gradient(x -> pass(noise, loss, x, W, N).auxiliaryLoss(), X);
        double[] dW = FiniteDifferences.gradient(w -> pass(noise, loss, X, w, N).auxiliaryLoss(), W);
        double norm = FiniteDifferences.norm(dX, dW);
        assertThat(norm).isPositive();
        try (Gradients d = pass(noise, loss, X, W, N).backward(new double[TOKENS * 2], new double[0])) {
            check(d.input(), dX, norm);
            check(d.parameters().get("weight"), dW, norm);
        }
    }

    private static void check(Matrix actual, double[] expected, double norm) {
        assertThat(FiniteDifferences.worst(actual.toArray(), expected, norm)).isLessThanOrEqualTo(1);
    }
}
