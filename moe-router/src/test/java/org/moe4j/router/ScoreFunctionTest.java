package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.testing.FiniteDifferences;

class ScoreFunctionTest {
    private static final ScoreFunction SOFTMAX = new ScoreFunction.Softmax();

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7, 64, 512})
    void softmaxEqualsItsDefinitionAndSumsToOne(int experts) {
        SplittableRandom random = new SplittableRandom(experts);
        double[] logits = random.doubles(experts, -20, 20).toArray();
        double[] scores = SOFTMAX.scores(logits);
        assertThat(scores).containsExactly(TokenwiseRouting.softmax(logits));
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
