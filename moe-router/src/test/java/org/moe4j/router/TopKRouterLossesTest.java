package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.router.loss.ZLoss;

/** Losses that a router carries: they are part of its auxiliary loss and of its gradients. */
class TopKRouterLossesTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final int TOKENS = 5;
    private static final int HIDDEN = 3;
    private static final int EXPERTS = 4;
    private static final boolean[] VALID = {true, false, true, true, false};
    private static final RoutingContext MASKED =
            new RoutingContext(Optional.of(RowMask.of(VALID)), List.of(), OptionalLong.empty());

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void zLossIsTheMeanSquareOfLogSumExpAndHasItsGradient(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        double[] x = random.doubles(TOKENS * HIDDEN, -1.5, 1.5).toArray();
        double[] w = random.doubles(EXPERTS * HIDDEN, -1.5, 1.5).toArray();
        TopKPass pass = pass(x, w);
        assertThat(pass.auxiliaryLoss()).isCloseTo(zLoss(x, w), within(1e-14));
        assertThat(pass.lossValue(pass.losses().get(0))).isEqualTo(pass.auxiliaryLoss());
        Gradients gradients = pass.backward(new double[TOKENS * 2], new double[0]);
        double[] dX = FiniteDifferences.gradient(at -> zLoss(at, w), x);
        double[] dW = FiniteDifferences.gradient(at -> zLoss(x, at), w);
        double norm = FiniteDifferences.norm(dX, dW);
        assertThat(FiniteDifferences.worst(gradients.input().toArray(), dX, norm))
                .isLessThanOrEqualTo(1);
        assertThat(FiniteDifferences.worst(gradients.parameters().get("weight").toArray(), dW, norm))
                .isLessThanOrEqualTo(1);
    }

    @Test
    void scoreGradientsGoThroughTheScoreFunction() {
        double[] x = {1, -0.5, 2, 0.25, 0.75, -1, 3, 1, 0.5, 0, 0, 0, -1, 1, -2};
        double[] w = {0.5, 1, -1, 2, 0, 0.25, -0.75, 1.5, 1, 0.1, 0.2, 0.3};
        double[] dScores =
                new SplittableRandom(7).doubles(TOKENS * EXPERTS, -1, 1).toArray();
        TopKPass pass = pass(x, w);
        double[] scores = pass.scores();
        double[] actual = pass.logitGradients(dScores);
        for (int t = 0; t < TOKENS; t++) {
            double mean = 0;
            for (int e = 0; e < EXPERTS; e++) {
                mean += scores[t * EXPERTS + e] * dScores[t * EXPERTS + e];
            }
            for (int at = t * EXPERTS; at < (t + 1) * EXPERTS; at++) {
                assertThat(actual[at]).isCloseTo(scores[at] * (dScores[at] - mean), within(1e-15));
            }
        }
    }

    @Test
    void aCoefficientIsAtLeastZero() {
        assertThatThrownBy(() -> new ZLoss(-1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("coefficient: expected a finite number of at least 0 but was -1.0");
    }

    private static TopKPass pass(double[] x, double[] w) {
        TopKRouter router = TopKRouter.of(RouterConfig.topK(EXPERTS, 2), BACKEND.matrix(EXPERTS, HIDDEN, w))
                .withLosses(new ZLoss(0.25));
        return router.route(BACKEND.matrix(TOKENS, HIDDEN, x), MASKED);
    }

    private static double zLoss(double[] x, double[] w) {
        double sum = 0;
        int count = 0;
        for (int t = 0; t < TOKENS; t++) {
            if (!VALID[t]) {
                continue;
            }
            double exponentials = 0;
            for (int e = 0; e < EXPERTS; e++) {
                double logit = 0;
                for (int d = 0; d < HIDDEN; d++) {
                    logit += x[t * HIDDEN + d] * w[e * HIDDEN + d];
                }
                exponentials += Math.exp(logit);
            }
            sum += Math.log(exponentials) * Math.log(exponentials);
            count++;
        }
        return 0.25 * sum / count;
    }
}
