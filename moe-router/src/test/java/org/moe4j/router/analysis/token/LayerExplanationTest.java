package org.moe4j.router.analysis.token;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.dispatch.UnservedTokens;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;
import org.moe4j.router.analysis.token.LayerExplanation.Contribution;

class LayerExplanationTest {
    private static final int EXPERTS = 16;
    private static final int WIDTH = 6;
    private static final int TOP_K = 4;
    private static final RouterConfig CONFIG = RouterConfig.topK(EXPERTS, TOP_K);
    private static final SmallLayer NUMBERS = new SmallLayer(EXPERTS, WIDTH, 3, 21);
    private static final double[] X =
            new SplittableRandom(22).doubles(WIDTH, -1, 1).toArray();

    /** A token behind two others. */
    private static Matrix tokens() {
        double[] all = new SplittableRandom(23).doubles(3 * WIDTH, -1, 1).toArray();
        System.arraycopy(X, 0, all, 2 * WIDTH, WIDTH);
        return SmallLayer.BACKEND.matrix(3, WIDTH, all);
    }

    @Test
    void contributionsAreThoseOfLoopsAndAddUpToTheOutput() {
        LayerExplanation token;
        try (MoeLayer layer = NUMBERS.layer(CONFIG)) {
            token = LayerExplanation.of(layer, tokens(), 2);
        }
        double[] p = SmallLayer.softmax(NUMBERS.logits(NUMBERS.router, X));
        int[] chosen = SmallLayer.best(p, TOP_K);
        double[] y = new double[WIDTH];
        assertThat(token.routed()).hasSize(TOP_K);
        for (int rank = 0; rank < TOP_K; rank++) {
            double[] row = NUMBERS.expert(chosen[rank], X);
            Contribution own = token.routed().get(rank);
            assertThat(own.expert()).isEqualTo(chosen[rank]);
            assertThat(own.coefficient()).isCloseTo(p[chosen[rank]], within(1e-14));
            assertThat(own.proposed()).isCloseTo(SmallLayer.length(row), within(1e-13));
            assertThat(own.length()).isCloseTo(p[chosen[rank]] * SmallLayer.length(row), within(1e-13));
            for (int i = 0; i < WIDTH; i++) {
                y[i] += p[chosen[rank]] * row[i];
            }
        }
        assertOutput(token, y);
        assertThat(token.shared()).isEmpty();
        assertThat(token.passed()).isZero();
        double[] residual = {1, 2, 3, 4, 5, 6};
        double[] sum = token.withResidual(residual);
        for (int i = 0; i < WIDTH; i++) {
            assertThat(sum[i]).isCloseTo(residual[i] + y[i], within(1e-13));
        }
        assertThat(residual[0]).isEqualTo(1);
    }

    private static void assertOutput(LayerExplanation token, double[] y) {
        for (int i = 0; i < y.length; i++) {
            assertThat(token.byHand().get(i)).isCloseTo(y[i], within(1e-13));
            assertThat(token.output().get(i)).isCloseTo(y[i], within(1e-13));
        }
        assertThat(token.largestDifference()).isLessThan(1e-13);
        assertThat(token.outputLength()).isCloseTo(SmallLayer.length(y), within(1e-13));
    }

    @Test
    void sharedExpertsAndTheirMergeAreInTheSum() {
        SmallLayer sharedNumbers = new SmallLayer(1, WIDTH, 2, 24);
        LayerExplanation token;
        try (MoeLayer layer = NUMBERS.layer(CONFIG)
                .withShared(SharedBranch.of(sharedNumbers.bank(), new SmallLayer.FixedMerge(0.5, -0.25)))) {
            token = LayerExplanation.of(layer, tokens(), 2);
        }
        double[] p = SmallLayer.softmax(NUMBERS.logits(NUMBERS.router, X));
        double[] shared = sharedNumbers.expert(0, X);
        double[] y = new double[WIDTH];
        for (int i = 0; i < WIDTH; i++) {
            y[i] = -0.25 * shared[i];
        }
        for (int e : SmallLayer.best(p, TOP_K)) {
            double[] row = NUMBERS.expert(e, X);
            for (int i = 0; i < WIDTH; i++) {
                y[i] += 0.5 * p[e] * row[i];
            }
        }
        assertOutput(token, y);
        assertThat(token.shared()).hasSize(1);
        assertThat(token.shared().get(0).coefficient()).isEqualTo(-0.25);
        assertThat(token.shared().get(0).proposed()).isCloseTo(SmallLayer.length(shared), within(1e-13));
        assertThat(token.shared().get(0).length()).isCloseTo(0.25 * SmallLayer.length(shared), within(1e-13));
        assertThat(token.routed().get(0).coefficient())
                .isCloseTo(0.5 * p[token.routed().get(0).expert()], within(1e-14));
    }

    /** Experts of width 3 between a projection down and one up. */
    @Test
    void latentExpertsProposeInTheFullWidth() {
        SmallLayer latentNumbers = new SmallLayer(EXPERTS, 3, 4, 25);
        LatentProjections latent = LatentProjections.random(WIDTH, 3, SmallLayer.BACKEND, 26);
        double[] down = latent.parameters().get("down").toArray();
        double[] up = latent.parameters().get("up").toArray();
        LayerExplanation token;
        try (MoeLayer layer = MoeLayer.of(
                TopKRouter.of(CONFIG, SmallLayer.BACKEND.matrix(EXPERTS, WIDTH, NUMBERS.router)),
                latentNumbers.bank(),
                latent)) {
            token = LayerExplanation.of(layer, tokens(), 2);
        }
        double[] narrow = new double[3];
        for (int i = 0; i < 3 * WIDTH; i++) {
            narrow[i / WIDTH] += down[i] * X[i % WIDTH];
        }
        double[] p = SmallLayer.softmax(NUMBERS.logits(NUMBERS.router, X));
        double[] y = new double[WIDTH];
        for (Contribution own : token.routed()) {
            double[] row = latentNumbers.expert(own.expert(), narrow);
            double[] wide = new double[WIDTH];
            for (int i = 0; i < 3 * WIDTH; i++) {
                wide[i / 3] += up[i] * row[i % 3];
            }
            assertThat(own.proposed()).isCloseTo(SmallLayer.length(wide), within(1e-13));
            for (int i = 0; i < WIDTH; i++) {
                y[i] += p[own.expert()] * wide[i];
            }
        }
        assertOutput(token, y);
    }

    @Test
    void weightsOnTheInputChangeWhatIsProposed() {
        LayerExplanation token;
        try (MoeLayer layer = NUMBERS.layer(RouterConfig.topK(EXPERTS, 1)).withWeightPlace(WeightPlace.INPUT)) {
            token = LayerExplanation.of(layer, tokens(), 2);
            assertThatThrownBy(() -> LayerExplanation.of(layer.withCapacity(Capacity.factor(1)), tokens(), 0))
                    .hasMessageStartingWith("layer: expected weights on the output, or no capacity but was");
        }
        double[] p = SmallLayer.softmax(NUMBERS.logits(NUMBERS.router, X));
        int best = SmallLayer.best(p, 1)[0];
        double[] weighted = new double[WIDTH];
        for (int i = 0; i < WIDTH; i++) {
            weighted[i] = p[best] * X[i];
        }
        double[] y = NUMBERS.expert(best, weighted);
        assertThat(token.routed()).hasSize(1);
        assertThat(token.routed().get(0).coefficient()).isEqualTo(1);
        assertThat(token.routed().get(0).proposed()).isCloseTo(SmallLayer.length(y), within(1e-13));
        assertOutput(token, y);
    }

    /** Three equal tokens, room for one: the others pass their experts by. */
    @Test
    void aDroppedTokenAddsNothingOrItself() {
        double[] same = new double[3 * WIDTH];
        for (int t = 0; t < 3; t++) {
            System.arraycopy(X, 0, same, t * WIDTH, WIDTH);
        }
        Matrix tokens = SmallLayer.BACKEND.matrix(3, WIDTH, same);
        Capacity one = Capacity.of(RowLimit.rows(1)).withUnserved(UnservedTokens.PASSED);
        try (MoeLayer layer = NUMBERS.layer(CONFIG).withCapacity(one)) {
            LayerExplanation served = LayerExplanation.of(layer, tokens, 0);
            assertThat(served.routed()).allMatch(own -> own.coefficient() > 0);
            assertThat(served.passed()).isZero();
            assertThat(served.largestDifference()).isLessThan(1e-13);
            LayerExplanation dropped = LayerExplanation.of(layer, tokens, 2);
            assertThat(dropped.routed()).hasSize(TOP_K).allMatch(own -> own.coefficient() == 0 && own.length() == 0);
            assertThat(dropped.passed()).isEqualTo(1);
            assertOutput(dropped, X);
        }
    }

    @Test
    void tokensAndResidualsHaveToFit() {
        try (MoeLayer layer = NUMBERS.layer(CONFIG)) {
            assertThatThrownBy(() -> LayerExplanation.of(layer, tokens(), 3))
                    .hasMessage("token: expected 0..2 (tokens) but was 3");
            LayerExplanation token = LayerExplanation.of(layer, tokens(), 0);
            assertThatThrownBy(() -> token.withResidual(new double[2]))
                    .hasMessage("residual: expected 6 numbers (hidden size) but was 2");
            assertThat(new LayerExplanation(List.of(), List.of(), 0, List.of(1.0), List.of(1.5)).largestDifference())
                    .isEqualTo(0.5);
        }
    }
}
