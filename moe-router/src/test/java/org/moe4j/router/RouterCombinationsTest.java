package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.router.ExpertSelection.GroupLimited;
import org.moe4j.router.Renormalization.EpsilonPlace;

/** Every combination of the router's values: forward against the definition of one token, backward against differences. */
class RouterCombinationsTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final int TOKENS = 2;
    private static final int HIDDEN = 3;
    private static final int EXPERTS = 8;
    private static final int TOP_K = 4;
    private static final List<Renormalization> RENORMALIZATIONS = List.of(
            new Renormalization.None(),
            new Renormalization.SoftmaxOfSelected(),
            new Renormalization.Sum(),
            new Renormalization.Sum(.1, EpsilonPlace.IN_SUM),
            new Renormalization.Sum(.1, EpsilonPlace.PER_SCORE),
            new Renormalization.Sum(.01, EpsilonPlace.FLOOR),
            new Renormalization.Sum(100, EpsilonPlace.FLOOR),
            new Renormalization.Norm(.5),
            new Renormalization.Norm(1),
            new Renormalization.Norm(2),
            new Renormalization.Norm(3));

    static Stream<RouterConfig> combinations() {
        List<ScoreFunction> scores = List.of(
                new ScoreFunction.Softmax(),
                new ScoreFunction.Sigmoid(),
                new ScoreFunction.Sigmoid(.01),
                new ScoreFunction.SqrtSoftplus());
        List<ExpertSelection> selections = List.of(
                new ExpertSelection.PlainTopK(),
                new GroupLimited(4, 2, new GroupScore.Max()),
                new GroupLimited(4, 3, new GroupScore.SumOfBest(2)),
                new GroupLimited(2, 1, new GroupScore.TopKPerKeptGroup()),
                new GroupLimited(4, 2, new GroupScore.Max(), ExpertSelection.ClosedGroups.ZERO));
        List<RouterConfig> all = new ArrayList<>();
        for (ScoreFunction score : scores) {
            for (ExpertSelection selection : selections) {
                for (Renormalization renormalization : RENORMALIZATIONS) {
                    if (renormalization.ofLogits() && !(score instanceof ScoreFunction.Softmax)) {
                        continue;
                    }
                    RouterConfig config = RouterConfig.topK(EXPERTS, TOP_K)
                            .withScore(score)
                            .withSelection(selection)
                            .withRenormalization(renormalization)
                            .withScale(2.5);
                    boolean odd = all.size() % 2 == 1;
                    all.add(config);
                    all.add(config.withSelectionBias(true).withLogitBias(odd));
                    all.add(config.withLogitBias(true).withSelectionBias(odd).withPrecision(RouterPrecision.DOUBLE));
                }
            }
        }
        return all.stream();
    }

    /** Numbers of one case; the last array is the selection bias. */
    private static final class Numbers {
        private final double[] tokens;
        private final double[] weight;
        private final double[] bias;
        private final double[] selectionBias;

        Numbers(double[] tokens, double[] weight, double[] bias, double[] selectionBias) {
            this.tokens = tokens;
            this.weight = weight;
            this.bias = bias;
            this.selectionBias = selectionBias;
        }

        TopKPass pass(RouterConfig config) {
            Matrix w = BACKEND.matrix(EXPERTS, HIDDEN, weight);
            TopKRouter router = config.logitBias()
                    ? TopKRouter.of(config, w, BACKEND.matrix(1, EXPERTS, bias))
                    : TopKRouter.of(config, w);
            router = config.selectionBias() ? router.withSelectionBias(SelectionBias.of(selectionBias)) : router;
            return router.route(BACKEND.matrix(TOKENS, HIDDEN, tokens), RoutingContext.plain());
        }
    }

    private static Numbers draw(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        return new Numbers(
                random.doubles(TOKENS * HIDDEN, -1.5, 1.5).toArray(),
                random.doubles(EXPERTS * HIDDEN, -1.5, 1.5).toArray(),
                random.doubles(EXPERTS, -1, 1).toArray(),
                random.doubles(EXPERTS, -.3, .3).toArray());
    }

    @ParameterizedTest
    @MethodSource("combinations")
    void forwardIsTheDefinition(RouterConfig config) {
        for (long seed = 1; seed <= 20; seed++) {
            Numbers numbers = draw(seed);
            TopKPass pass = numbers.pass(config);
            for (int t = 0; t < TOKENS; t++) {
                double[] logits = logits(config, numbers, t);
                double[] scores = TokenwiseRouting.scores(config.score(), logits);
                double[] choice = config.renormalization().ofLogits() ? logits.clone() : scores.clone();
                for (int e = 0; e < EXPERTS; e++) {
                    choice[e] += config.selectionBias() ? numbers.selectionBias[e] : 0;
                }
                double[] restricted = TokenwiseRouting.restricted(config.selection(), choice, TOP_K);
                int[] best = TokenwiseRouting.best(restricted, TOP_K);
                double[] weights = TokenwiseRouting.weights(config.renormalization(), logits, scores, best);
                assertThat(row(pass.choiceScores(), t)).containsExactly(restricted, within(1e-13));
                for (int rank = 0; rank < TOP_K; rank++) {
                    assertThat(pass.routing().expert(t, rank)).isEqualTo(best[rank]);
                    assertThat(pass.routing().weight(t, rank)).isCloseTo(2.5 * weights[rank], within(1e-13));
                }
            }
        }
    }

    private static double[] logits(RouterConfig config, Numbers numbers, int token) {
        double[] logits = new double[EXPERTS];
        for (int e = 0; e < EXPERTS; e++) {
            for (int d = 0; d < HIDDEN; d++) {
                logits[e] += numbers.tokens[token * HIDDEN + d] * numbers.weight[e * HIDDEN + d];
            }
            logits[e] += config.logitBias() ? numbers.bias[e] : 0;
        }
        return logits;
    }

    private static double[] row(double[] all, int token) {
        return Arrays.copyOfRange(all, token * EXPERTS, (token + 1) * EXPERTS);
    }

    @ParameterizedTest
    @MethodSource("combinations")
    void backwardAgreesWithDifferences(RouterConfig config) {
        long seed = 1;
        Numbers numbers = draw(seed);
        while (!awayFromTies(config, numbers)) {
            numbers = draw(++seed);
            assertThat(seed).as("draws").isLessThan(200);
        }
        SplittableRandom random = new SplittableRandom(99);
        double[] dWeights = random.doubles(TOKENS * TOP_K, -1, 1).toArray();
        double[] dLogits = random.doubles(TOKENS * EXPERTS, -1, 1).toArray();
        Numbers at = numbers;
        double[] dX = FiniteDifferences.gradient(
                x -> loss(config, new Numbers(x, at.weight, at.bias, at.selectionBias), dWeights, dLogits), at.tokens);
        double[] dW = FiniteDifferences.gradient(
                w -> loss(config, new Numbers(at.tokens, w, at.bias, at.selectionBias), dWeights, dLogits), at.weight);
        double[] dB = FiniteDifferences.gradient(
                b -> loss(config, new Numbers(at.tokens, at.weight, b, at.selectionBias), dWeights, dLogits), at.bias);
        Gradients d = at.pass(config).backward(dWeights, dLogits);
        double norm = FiniteDifferences.norm(dX, dW, dB);
        assertThat(FiniteDifferences.worst(d.input().toArray(), dX, norm)).isLessThanOrEqualTo(1);
        assertThat(FiniteDifferences.worst(d.parameters().get("weight").toArray(), dW, norm))
                .isLessThanOrEqualTo(1);
        if (config.logitBias()) {
            assertThat(FiniteDifferences.worst(d.parameters().get("bias").toArray(), dB, norm))
                    .isLessThanOrEqualTo(1);
        }
        assertThat(d.parameters().names()).hasSize(config.logitBias() ? 2 : 1);
    }

    /** Whether moving any number by 1e-3 leaves every token with the same experts in the same order. */
    private static boolean awayFromTies(RouterConfig config, Numbers numbers) {
        String order = order(numbers.pass(config).routing());
        for (double[] moved : List.of(numbers.tokens, numbers.weight, numbers.bias)) {
            for (int i = 0; i < moved.length; i++) {
                double kept = moved[i];
                for (double step : new double[] {1e-3, -1e-3}) {
                    moved[i] = kept + step;
                    boolean same = order(numbers.pass(config).routing()).equals(order);
                    moved[i] = kept;
                    if (!same) {
                        return false;
                    }
                }
            }
        }
        return true;
    }

    private static String order(Routing routing) {
        StringBuilder order = new StringBuilder();
        for (int slot = 0; slot < routing.slots(); slot++) {
            order.append(routing.expert(slot / TOP_K, slot % TOP_K)).append(' ');
        }
        return order.toString();
    }

    private static double loss(RouterConfig config, Numbers numbers, double[] dWeights, double[] dLogits) {
        TopKPass pass = numbers.pass(config);
        double loss = 0;
        for (int slot = 0; slot < dWeights.length; slot++) {
            loss += pass.routing().weight(slot / TOP_K, slot % TOP_K) * dWeights[slot];
        }
        double[] logits = pass.logits();
        for (int i = 0; i < logits.length; i++) {
            loss += logits[i] * dLogits[i];
        }
        return loss;
    }
}
