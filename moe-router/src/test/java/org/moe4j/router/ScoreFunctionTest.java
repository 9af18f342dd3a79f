package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.testing.FiniteDifferences;

class ScoreFunctionTest {
    private static final ScoreFunction SOFTMAX = new ScoreFunction.Softmax();
    private static final ScoreFunction SQRT_SOFTPLUS = new ScoreFunction.SqrtSoftplus();

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7, 64, 512})
    void softmaxEqualsItsDefinitionAndSumsToOne(int experts) {
        SplittableRandom random = new SplittableRandom(experts);
        double[] logits = random.doubles(experts, -20, 20).toArray();
        double[] scores = SOFTMAX.scores(logits);
        double[] expected = TokenwiseRouting.softmax(logits);
        for (int e = 0; e < experts; e++) {
            assertThat(scores[e]).isCloseTo(expected[e], withinPercentage(1e-12));
        }
        assertThat(Arrays.stream(scores).sum()).isCloseTo(1, within(1e-14));
    }

    @Test
    void softmaxOfATokenAmongManyReadsItsOwnLogits() {
        double[] logits = {1, 2, 3, -1, 0, 5, .5, .25, .125};
        double[] scores = new double[3];
        SOFTMAX.scores(logits, 1, scores);
        assertThat(scores).containsExactly(SOFTMAX.scores(new double[] {-1, 0, 5}));
    }

    @Test
    void softmaxStaysFiniteForExtremeLogits() {
        assertThat(SOFTMAX.scores(new double[] {1e4, -1e4, 1e4})).containsExactly(.5, 0, .5);
        assertThat(SOFTMAX.scores(new double[] {Double.MAX_VALUE, -Double.MAX_VALUE}))
                .containsExactly(1, 0);
        assertThat(SOFTMAX.scores(new double[] {Double.MIN_VALUE, 0, -Double.MIN_VALUE, 3e-310}))
                .containsExactly(.25, .25, .25, .25);
        assertThat(SOFTMAX.scores(new double[] {-1e4, -1e4})).containsExactly(.5, .5);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5, 16})
    void softmaxGradientAgreesWithDifferences(int experts) {
        SplittableRandom random = new SplittableRandom(experts);
        double[] logits = random.doubles(experts, -2, 2).toArray();
        double[] dScores = random.doubles(experts, -1, 1).toArray();
        double[] analytic = SOFTMAX.logitGradients(logits, SOFTMAX.scores(logits), dScores);
        double[] numeric = FiniteDifferences.gradient(
                l -> {
                    double[] scores = SOFTMAX.scores(l);
                    double sum = 0;
                    for (int e = 0; e < experts; e++) {
                        sum += scores[e] * dScores[e];
                    }
                    return sum;
                },
                logits);
        // With one expert the gradient is zero and only its absolute size can be judged.
        assertThat(FiniteDifferences.worst(analytic, numeric, Math.max(1e-3, FiniteDifferences.norm(analytic))))
                .isLessThanOrEqualTo(1);
    }

    @Test
    void gradientsAreAddedToWhatIsThere() {
        double[] logits = {0, 1, 2, 2, 1, 0};
        double[] scores = SOFTMAX.scores(new double[] {2, 1, 0});
        double[] dScores = {1, -1, .5};
        double[] dLogits = {7, 7, 7, 1, 1, 1};
        SOFTMAX.logitGradients(logits, 1, scores, dScores, dLogits);
        double[] alone = SOFTMAX.logitGradients(new double[] {2, 1, 0}, scores, dScores);
        assertThat(dLogits).containsExactly(7, 7, 7, 1 + alone[0], 1 + alone[1], 1 + alone[2]);
    }

    static Stream<ScoreFunction> all() {
        return Stream.of(SOFTMAX, new ScoreFunction.Sigmoid(), new ScoreFunction.Sigmoid(1e-7), SQRT_SOFTPLUS);
    }

    @ParameterizedTest
    @MethodSource("all")
    void everyFunctionEqualsItsFormula(ScoreFunction function) {
        double[] logits = new SplittableRandom(4).doubles(500, -15, 30).toArray();
        double[] expected = TokenwiseRouting.scores(function, logits);
        double[] scores = function.scores(logits);
        for (int e = 0; e < logits.length; e++) { // the naive logarithm loses digits where e^l is small
            assertThat(scores[e]).isCloseTo(expected[e], within(1e-15 + Math.abs(expected[e]) * 1e-9));
        }
    }

    @ParameterizedTest
    @MethodSource("all")
    void everyGradientAgreesWithDifferences(ScoreFunction function) {
        double[] logits = {-6, -2, -.5, 0, .25, 3, 8};
        double[] dScores = new SplittableRandom(2).doubles(7, -1, 1).toArray();
        double[] analytic = function.logitGradients(logits, function.scores(logits), dScores);
        double[] numeric = FiniteDifferences.gradient(
                l -> {
                    double[] scores = function.scores(l);
                    return IntStream.range(0, 7)
                            .mapToDouble(e -> scores[e] * dScores[e])
                            .sum();
                },
                logits);
        assertThat(FiniteDifferences.worst(analytic, numeric, FiniteDifferences.norm(analytic)))
                .isLessThanOrEqualTo(1);
    }

    @ParameterizedTest
    @MethodSource("all")
    void extremeLogitsGiveFiniteScoresAndGradients(ScoreFunction function) {
        double[] logits = {1e4, -1e4, 0, Double.MIN_VALUE, -3e-310, 700, -700, -745, 37, -37, Double.MAX_VALUE, -1e300};
        double[] scores = function.scores(logits);
        double[] dScores = new double[logits.length];
        Arrays.fill(dScores, 1);
        for (double value : scores) {
            assertThat(value).isFinite().isNotNegative();
        }
        for (double value : function.logitGradients(logits, scores, dScores)) {
            assertThat(value).isFinite();
        }
    }

    @Test
    void sigmoidKeepsItsDigitsOnBothSides() {
        ScoreFunction sigmoid = new ScoreFunction.Sigmoid();
        for (double l : new double[] {-1, -30, -88.7, -103, -400, -699.9, -700.1, -709.5, -740}) {
            double power = StrictMath.exp(l);
            assertThat(sigmoid.scores(new double[] {l})[0]).isCloseTo(power / (1 + power), withinPercentage(1e-12));
        }
        assertThat(sigmoid.scores(new double[] {-750, 0, 40, 1e4})).containsExactly(0, .5, 1, 1);
        double[] tail = sigmoid.logitGradients(new double[] {50}, new double[] {1}, new double[] {1});
        assertThat(tail[0]).isCloseTo(StrictMath.exp(-50), withinPercentage(1e-10));
    }

    @Test
    void theEpsilonIsAddedToEveryScore() {
        assertThat(new ScoreFunction.Sigmoid(.25).scores(new double[] {0, -1e4, 1e4}))
                .containsExactly(.75, .25, 1.25);
        assertThat(new ScoreFunction.Sigmoid()).isEqualTo(new ScoreFunction.Sigmoid(0));
        for (double bad : new double[] {-1, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThatThrownBy(() -> new ScoreFunction.Sigmoid(bad))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("epsilon: expected a finite number of at least 0 but was " + bad);
        }
    }

    @Test
    void sqrtSoftplusKeepsItsDigitsOnBothSides() {
        double[] scores = SQRT_SOFTPLUS.scores(new double[] {1e4, 0, -36.9, -37.1, -1000, -1e4});
        assertThat(scores[0]).isEqualTo(100);
        assertThat(scores[1]).isCloseTo(Math.sqrt(Math.log(2)), within(2e-16));
        assertThat(scores[2]).isCloseTo(StrictMath.exp(-18.45), withinPercentage(1e-12));
        assertThat(scores[3]).isCloseTo(StrictMath.exp(-18.55), withinPercentage(1e-12));
        assertThat(scores[4]).isCloseTo(StrictMath.exp(-500), withinPercentage(1e-12));
        assertThat(scores[5]).isZero();
        double[] slope = SQRT_SOFTPLUS.logitGradients(new double[] {-1000}, new double[] {scores[4]}, new double[] {1});
        assertThat(slope[0]).isEqualTo(scores[4] / 2);
    }

    @Test
    void wrongLengthsAreRefused() {
        assertThatThrownBy(() -> SOFTMAX.logitGradients(new double[3], new double[2], new double[3]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("scores: expected 3 numbers (one per logit) but was 2");
        assertThatThrownBy(() -> SOFTMAX.logitGradients(new double[3], new double[3], new double[4]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("dScores: expected 3 numbers (one per logit) but was 4");
    }
}
