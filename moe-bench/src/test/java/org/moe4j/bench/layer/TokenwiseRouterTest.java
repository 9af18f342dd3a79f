package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.layer.RouterWords.Groups;
import org.moe4j.bench.layer.RouterWords.Weighing;

/** The definition itself, against numbers that were worked out by hand. */
class TokenwiseRouterTest {
    private static final double LN_3 = Math.log(3); // sigmoid 3/4
    private static final Weighing SUM = Weighing.of("sum");

    private static RouterWords sigmoids(int topK, Optional<Groups> groups, List<Double> bias, Weighing weighing) {
        return new RouterWords(4, topK, "sigmoid", 0, groups, bias, false, weighing, 2, "backend");
    }

    private static Optional<Groups> pairs(String score, String fill) {
        return Optional.of(new Groups(2, 1, score, fill));
    }

    @Test
    void theBiasSelectsAndDoesNotWeigh() {
        RouterWords words = sigmoids(2, Optional.empty(), List.of(0.0, 0.0, 1.0, 0.0), SUM);
        double[] logits = {LN_3, 0, -LN_3, 0}; // scores 3/4, 1/2, 1/4, 1/2
        TokenwiseRouter.Choice choice = TokenwiseRouter.route(words, logits);
        assertThat(choice.experts()).containsExactly(2, 0);
        assertThat(choice.weights()).containsExactly(new double[] {0.5, 1.5}, within(1e-15));
        assertThat(TokenwiseRouter.gap(words, logits)).isCloseTo(0.25, within(1e-15));
    }

    @Test
    void theBestExpertOrTheBestPair() {
        double[] logits = {LN_3, -9, 0, 0};
        assertThat(TokenwiseRouter.selected(sigmoids(2, pairs("max", "minus-infinity"), List.of(), SUM), logits))
                .containsExactly(0, 1);
        assertThat(TokenwiseRouter.selected(
                        sigmoids(2, pairs("sum-of-top-2", "minus-infinity"), List.of(), SUM), logits))
                .containsExactly(2, 3);
        assertThat(TokenwiseRouter.selected(
                        sigmoids(1, pairs("top-k-per-kept-group", "minus-infinity"), List.of(), SUM), logits))
                .containsExactly(0);
    }

    @Test
    void aFillOfZeroOutranksWhatIsNegative() {
        List<Double> bias = List.of(-0.5, -1.0, -1.5, -1.5);
        double[] logits = {LN_3, 0, 0, 0}; // ranked by 1/4, −1/2, and the closed pair
        RouterWords zero = sigmoids(2, pairs("max", "zero"), bias, SUM);
        assertThat(TokenwiseRouter.selected(zero, logits)).containsExactly(0, 2);
        assertThat(TokenwiseRouter.selected(sigmoids(2, pairs("max", "minus-infinity"), bias, SUM), logits))
                .containsExactly(0, 1);
        // experts 2 and 3 tie at their fills, which no rounding can move; expert 1 is half a unit away
        assertThat(TokenwiseRouter.gap(zero, logits)).isCloseTo(0.25, within(1e-15));
    }

    @Test
    void theGapIsThatOfTheNearestJumpOrKink() {
        double[] logits = {LN_3, -LN_3, LN_3 + 0.004, -LN_3}; // 3/4 + 0.00075 against 3/4: the groups nearly tie
        RouterWords grouped = sigmoids(1, pairs("max", "minus-infinity"), List.of(), SUM);
        assertThat(TokenwiseRouter.gap(grouped, logits)).isCloseTo(0.00075, within(1e-5));
        RouterWords plain = sigmoids(2, Optional.empty(), List.of(), SUM);
        assertThat(TokenwiseRouter.gap(plain, logits)).isCloseTo(0.5, within(1e-12));
        RouterWords floor = sigmoids(2, Optional.empty(), List.of(), new Weighing("sum", 1.5, "floor", 1));
        assertThat(TokenwiseRouter.gap(floor, logits)).isCloseTo(0.00075, within(1e-5));
        assertThat(TokenwiseRouter.gap(sigmoids(4, Optional.empty(), List.of(), SUM), logits))
                .isEqualTo(Double.POSITIVE_INFINITY);
    }

    @Test
    void weightsOfEachRenormalisation() {
        double[] logits = {LN_3, 0, -50, -50}; // scores 3/4 and 1/2
        assertThat(weights(Weighing.of("none"), logits)).containsExactly(new double[] {1.5, 1}, within(1e-15));
        assertThat(weights(new Weighing("sum", 1.25, "in-sum", 1), logits))
                .containsExactly(new double[] {0.6, 0.4}, within(1e-15));
        assertThat(weights(new Weighing("sum", 0.25, "per-score", 1), logits))
                .containsExactly(new double[] {8 / 7.0, 6 / 7.0}, within(1e-15));
        assertThat(weights(new Weighing("sum", 2.5, "floor", 1), logits))
                .containsExactly(new double[] {0.6, 0.4}, within(1e-15));
        assertThat(weights(new Weighing("norm", 0, "in-sum", 2), logits))
                .containsExactly(new double[] {6 / Math.sqrt(13), 4 / Math.sqrt(13)}, within(1e-15));
        assertThat(weights(Weighing.of("softmax-of-selected"), logits))
                .containsExactly(new double[] {1.5, 0.5}, within(1e-15));
    }

    private static double[] weights(Weighing weighing, double[] logits) {
        return TokenwiseRouter.route(sigmoids(2, Optional.empty(), List.of(), weighing), logits)
                .weights();
    }
}
