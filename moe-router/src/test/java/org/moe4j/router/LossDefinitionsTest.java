package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;

/** Every loss against its source's formula: values of 1,000 random cases, and gradients against differences of that formula. */
class LossDefinitionsTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final int CASES = 1000;
    private static final int GRADIENT_CASES = 150;
    private static final List<List<LossLayer>> AWAY_FROM_TIES = LongStream.range(0, GRADIENT_CASES)
            .mapToObj(LossDraw::layers)
            .filter(layers -> layers.stream().allMatch(LossDraw::isAwayFromTies))
            .toList();
    private static final int TOKENS = 4;
    private static final int HIDDEN = 3;

    @ParameterizedTest
    @MethodSource("org.moe4j.router.LossSubject#all")
    void valueIsTheDefinition(LossSubject subject) {
        for (long seed = 0; seed < CASES; seed++) {
            List<LossLayer> layers = LossDraw.layers(seed);
            double expected = subject.definition().applyAsDouble(layers);
            assertThat(subject.value(layers))
                    .as("seed %d, %s", seed, layers)
                    .isCloseTo(expected, within(1e-12 * Math.max(1, expected)));
        }
    }

    @ParameterizedTest
    @MethodSource("org.moe4j.router.LossSubject#all")
    void gradientsAgreeWithDifferences(LossSubject subject) {
        for (List<LossLayer> layers : AWAY_FROM_TIES) {
            double[] flat = layers.stream()
                    .flatMapToDouble(layer -> Arrays.stream(layer.flat()))
                    .toArray();
            double[] expected = FiniteDifferences.gradient(
                    at -> subject.definition().applyAsDouble(LossSubject.at(layers, at)), flat);
            double[] actual = LossSubject.gradients(subject.loss(), layers);
            double norm = Math.max(1e-4, FiniteDifferences.norm(expected)); // below it differences are rounding
            assertThat(FiniteDifferences.worst(actual, expected, norm))
                    .as("%s", layers)
                    .isLessThanOrEqualTo(1);
        }
    }

    @Test
    void fewDrawsAreNearTies() {
        assertThat(AWAY_FROM_TIES).hasSizeGreaterThan(GRADIENT_CASES * 4 / 5);
    }

    /** Of a whole router: to tokens and weight. */
    @ParameterizedTest
    @MethodSource("org.moe4j.router.LossSubject#all")
    void routersHandTheGradientOn(LossSubject subject) {
        int tokens = TOKENS;
        int hidden = HIDDEN;
        RouterConfig config = RouterConfig.topK(4, 2)
                .withScore(new ScoreFunction.Sigmoid())
                .withRenormalization(new Renormalization.Sum())
                .withSelectionBias(true);
        double[] bias = {0.2, -0.1, 0, 0.1};
        LossLayer shape = LossLayer.plain(config, new double[tokens][4])
                .withBias(bias)
                .withValid(true, true, false, true)
                .withLengths(1, 3);
        SplittableRandom random = new SplittableRandom(11);
        double[] x = random.doubles((long) tokens * hidden, -1.5, 1.5).toArray();
        double[] w = random.doubles(4L * hidden, -1.5, 1.5).toArray();
        assertThat(LossDraw.isAwayFromTies(shape.withLogits(product(x, w, hidden))))
                .isTrue();
        TopKRouter router = TopKRouter.of(config, BACKEND.matrix(4, hidden, w))
                .withSelectionBias(SelectionBias.of(bias))
                .withLosses(subject.loss(), subject.loss());
        TopKPass pass = router.route(BACKEND.matrix(tokens, hidden, x), shape.context());
        double one = subject.definition().applyAsDouble(List.of(shape.withLogits(product(x, w, hidden))));
        assertThat(pass.lossValues()).containsExactly(new double[] {one, one}, within(1e-14));
        assertThat(pass.auxiliaryLoss()).isCloseTo(2 * one, within(1e-14));
        Gradients gradients = pass.backward(new double[tokens * 2], new double[0]);
        double[] dX = FiniteDifferences.gradient(
                at -> 2 * subject.definition().applyAsDouble(List.of(shape.withLogits(product(at, w, hidden)))), x);
        double[] dW = FiniteDifferences.gradient(
                at -> 2 * subject.definition().applyAsDouble(List.of(shape.withLogits(product(x, at, hidden)))), w);
        double norm = Math.max(1e-4, FiniteDifferences.norm(dX, dW));
        assertThat(FiniteDifferences.worst(gradients.input().toArray(), dX, norm))
                .isLessThanOrEqualTo(1);
        assertThat(FiniteDifferences.worst(gradients.parameters().get("weight").toArray(), dW, norm))
                .isLessThanOrEqualTo(1);
    }

    private static double[] product(double[] x, double[] w, int hidden) {
        int experts = w.length / hidden;
        double[] logits = new double[x.length / hidden * experts];
        for (int i = 0; i < logits.length; i++) {
            for (int d = 0; d < hidden; d++) {
                logits[i] += x[i / experts * hidden + d] * w[i % experts * hidden + d];
            }
        }
        return logits;
    }
}
