package org.moe4j.router.analysis.token;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.TopKRouter;
import org.moe4j.router.loss.ZLoss;

class GradientReachTest {
    private static final int EXPERTS = 64;
    private static final int TOP_K = 8;
    private static final int WIDTH = 5;
    private static final RouterConfig OLMOE = RouterConfig.topK(EXPERTS, TOP_K);

    private static double[] numbers(long seed, int count) {
        return new SplittableRandom(seed).doubles(count, -1, 1).toArray();
    }

    private static GradientReach reach(MoeLayer layer, int tokens, long seed) {
        Matrix x = SmallLayer.BACKEND.matrix(tokens, WIDTH, numbers(seed, tokens * WIDTH));
        Matrix dOutput = SmallLayer.BACKEND.matrix(tokens, WIDTH, numbers(seed + 1, tokens * WIDTH));
        return GradientReach.of(layer, x, dOutput);
    }

    /** Loss {@code v · y} of one token for the chosen set at the given router: the definition, in loops. */
    private static double loss(SmallLayer numbers, double[] router, int[] chosen, double[] x, double[] v) {
        double[] p = SmallLayer.softmax(numbers.logits(router, x));
        double loss = 0;
        for (int e : chosen) {
            double[] row = numbers.expert(e, x);
            for (int i = 0; i < row.length; i++) {
                loss += v[i] * p[e] * row[i];
            }
        }
        return loss;
    }

    /** 64 rows and 8 experts, as in LLM Architecture Refresh 5, §9; formula, backward and differences agree. */
    @ParameterizedTest
    @ValueSource(longs = {31, 32, 33})
    void everyRowButOnlyChosenExperts(long seed) {
        SmallLayer numbers = new SmallLayer(EXPERTS, WIDTH, 3, seed);
        double[] x = numbers(seed + 10, WIDTH);
        double[] v = numbers(seed + 20, WIDTH);
        double[] p = SmallLayer.softmax(numbers.logits(numbers.router, x));
        int[] best = SmallLayer.best(p, TOP_K + 1);
        assertThat(p[best[TOP_K - 1]] / p[best[TOP_K]]).as("no near tie").isGreaterThan(1.001);
        int[] chosen = Arrays.copyOf(best, TOP_K);
        double[] differences =
                FiniteDifferences.gradient(router -> loss(numbers, router, chosen, x, v), numbers.router);
        double norm = FiniteDifferences.norm(differences);
        double[] weights = new double[TOP_K];
        double[] g = new double[TOP_K];
        for (int rank = 0; rank < TOP_K; rank++) {
            weights[rank] = p[chosen[rank]];
            double[] row = numbers.expert(chosen[rank], x);
            for (int i = 0; i < WIDTH; i++) {
                g[rank] += v[i] * row[i];
            }
        }
        double[] dLogits = GradientReach.logitGradients(p, chosen, weights, g);
        double[] formula = new double[EXPERTS * WIDTH];
        for (int i = 0; i < formula.length; i++) {
            formula[i] = dLogits[i / WIDTH] * x[i % WIDTH];
        }
        assertThat(FiniteDifferences.worst(formula, differences, norm)).isLessThanOrEqualTo(1);
        Matrix tokens = SmallLayer.BACKEND.matrix(1, WIDTH, x);
        Matrix dOutput = SmallLayer.BACKEND.matrix(1, WIDTH, v);
        try (MoeLayer layer = numbers.layer(OLMOE);
                MoePass pass = layer.forward(tokens);
                Gradients gradients = pass.backward(dOutput)) {
            double[] ofLibrary = gradients.parameters().get("router.weight").toArray();
            assertThat(FiniteDifferences.worst(ofLibrary, differences, norm)).isLessThanOrEqualTo(1);
            assertThat(ofLibrary).containsExactly(formula, within(1e-14));
            GradientReach reach = GradientReach.of(layer, tokens, dOutput);
            assertThat(reach.routerRows()).isEqualTo(EXPERTS);
            assertThat(reach.experts())
                    .containsExactlyElementsOf(
                            Arrays.stream(chosen).sorted().boxed().toList());
            assertThat(reach.chosen()).isEqualTo(reach.experts());
            assertThat(reach.largest()).isCloseTo(norm, within(1e-6 * norm));
            assertThat(reach.formulaDifference().orElseThrow()).isLessThan(1e-14);
        }
    }

    @Test
    void severalTokensReachTheUnionOfTheirExperts() {
        try (MoeLayer layer = new SmallLayer(EXPERTS, WIDTH, 3, 41).layer(OLMOE.withScale(2.5))) {
            GradientReach reach = reach(layer, 6, 42);
            assertThat(reach.experts()).hasSizeBetween(TOP_K + 1, 6 * TOP_K).isEqualTo(reach.chosen());
            assertThat(reach.routerRows()).isEqualTo(EXPERTS);
            assertThat(reach.formulaDifference().orElseThrow()).isLessThan(1e-13);
            GradientReach nothing = reach(layer, 0, 43);
            assertThat(nothing.experts()).isEmpty();
            assertThat(nothing.routerRows()).isZero();
            assertThat(nothing.largest()).isZero();
        }
    }

    /** The merge's factor is part of the weight in the formula. */
    @Test
    void aMergeScalesWhatTheRouterGets() {
        SmallLayer numbers = new SmallLayer(EXPERTS, WIDTH, 3, 44);
        SharedBranch branch =
                SharedBranch.of(new SmallLayer(1, WIDTH, 2, 45).bank(), new SmallLayer.FixedMerge(0.5, 2));
        double plain;
        try (MoeLayer layer = numbers.layer(OLMOE)) {
            plain = reach(layer, 2, 46).largest();
        }
        try (MoeLayer layer = numbers.layer(OLMOE).withShared(branch)) {
            GradientReach reach = reach(layer, 2, 46);
            assertThat(reach.largest()).isCloseTo(plain / 2, within(1e-15));
            assertThat(reach.formulaDifference().orElseThrow()).isLessThan(1e-14);
        }
    }

    /** Sigmoids see their own logit alone, and renormalised ones those of the chosen. */
    @Test
    void withSigmoidsOnlyChosenRowsAreReached() {
        RouterConfig config =
                OLMOE.withScore(new ScoreFunction.Sigmoid()).withRenormalization(new Renormalization.Sum());
        try (MoeLayer layer = new SmallLayer(EXPERTS, WIDTH, 3, 47).layer(config)) {
            GradientReach reach = reach(layer, 1, 48);
            assertThat(reach.routerRows()).isEqualTo(TOP_K);
            assertThat(reach.experts()).hasSize(TOP_K);
            assertThat(reach.formulaDifference()).isEmpty();
        }
    }

    @Test
    void whatTheFormulaDoesNotSayIsNotCompared() {
        SmallLayer numbers = new SmallLayer(4, WIDTH, 3, 49);
        RouterConfig one = RouterConfig.topK(4, 1);
        Matrix weight = SmallLayer.BACKEND.matrix(4, WIDTH, numbers.router);
        try (MoeLayer layer = numbers.layer(one)) {
            assertThat(reach(layer, 3, 50).formulaDifference()).isPresent();
            assertThat(reach(layer.withCapacity(Capacity.factor(4)), 3, 50).formulaDifference())
                    .isEmpty();
            assertThat(reach(layer.withWeightPlace(WeightPlace.INPUT), 3, 50).formulaDifference())
                    .isEmpty();
            TopKRouter withLoss = TopKRouter.of(one, weight).withLosses(new ZLoss(0.1));
            assertThat(reach(layer.withRouter(withLoss), 3, 50).formulaDifference())
                    .isEmpty();
        }
    }

    /** The only expert's probability is 1 whatever its logit. */
    @Test
    void aSingleExpertTeachesItsRouterNothing() {
        try (MoeLayer layer = new SmallLayer(1, WIDTH, 3, 51).layer(RouterConfig.topK(1, 1))) {
            GradientReach reach = reach(layer, 2, 52);
            assertThat(reach.routerRows()).isZero();
            assertThat(reach.experts()).containsExactly(0);
        }
    }

    @Test
    void theFormulaTakesANumberForEachChosenExpert() {
        assertThatThrownBy(() -> GradientReach.logitGradients(new double[3], new int[2], new double[1], new double[2]))
                .hasMessage("weights: expected 2 numbers (one per chosen expert) but was 1");
        assertThatThrownBy(() -> GradientReach.logitGradients(new double[3], new int[2], new double[2], new double[1]))
                .hasMessage("g: expected 2 numbers (one per chosen expert) but was 1");
    }
}
