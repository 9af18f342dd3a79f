package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.router.ExpertSelection.ExpertChoice;

class ExpertChoiceTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();

    private static RouterConfig config(int experts, int topK, double factor) {
        return RouterConfig.topK(experts, topK)
                .withSelection(new ExpertChoice(RowLimit.factor(factor), CapacityScope.batch()));
    }

    /** Tokens of one group that one expert takes: sorted by its scores, of equal ones the earlier. */
    private static List<Integer> taken(double[][] scores, int expert, int from, int to, int rows) {
        return IntStream.range(from, to)
                .boxed()
                .sorted(Comparator.comparingDouble((Integer t) -> -scores[t][expert])
                        .thenComparing(t -> t))
                .limit(rows)
                .toList();
    }

    private static void requireDefinition(
            RouterConfig config, double[] logits, int groupSize, int rows, Routing actual) {
        int experts = config.experts();
        int tokens = logits.length / experts;
        double[][] scores = new double[tokens][];
        for (int t = 0; t < tokens; t++) {
            double[] row = new double[experts];
            System.arraycopy(logits, t * experts, row, 0, experts);
            scores[t] = TokenwiseRouting.scores(config.score(), row);
        }
        List<List<Integer>> ofToken = new ArrayList<>();
        IntStream.range(0, tokens).forEach(t -> ofToken.add(new ArrayList<>()));
        for (int from = 0; from < tokens; from += groupSize) {
            int end = Math.min(tokens, from + groupSize);
            for (int e = 0; e < experts; e++) {
                for (int t : taken(scores, e, from, end, rows)) {
                    ofToken.get(t).add(e);
                }
            }
        }
        for (int t = 0; t < tokens; t++) {
            double[] own = scores[t];
            ofToken.get(t)
                    .sort(Comparator.comparingDouble((Integer e) -> -own[e]).thenComparing(e -> e));
            assertThat(actual.count(t)).isEqualTo(ofToken.get(t).size());
            for (int rank = 0; rank < actual.count(t); rank++) {
                assertThat(actual.expert(t, rank)).isEqualTo(ofToken.get(t).get(rank));
                assertThat(actual.weight(t, rank)).isCloseTo(own[actual.expert(t, rank)], within(1e-15));
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "12, 4, 1, 1, 3",
        "12, 4, 2, 1, 6",
        "10, 8, 2, 1, 3",
        "7, 3, 1, 2, 5",
        "3, 5, 5, 1, 3",
        "1, 4, 1, 1, 1",
        "9, 1, 1, 1, 9"
    })
    void everyExpertTakesItsBestRows(int tokens, int experts, int topK, double factor, int rows) {
        for (long seed = 1; seed <= 250; seed++) {
            double[] logits = new SplittableRandom(seed)
                    .doubles((long) tokens * experts, -3, 3)
                    .map(seed % 2 == 0 ? l -> l : l -> Math.rint(l)) // every other case has ties
                    .toArray();
            RouterConfig softmax = config(experts, topK, factor);
            RouterConfig sigmoid = softmax.withScore(new ScoreFunction.Sigmoid());
            assertThat(softmax.routing(logits).tokensPerExpert()).containsOnly(rows);
            assertThat(sigmoid.routing(logits).tokensPerExpert()).containsOnly(rows);
            requireDefinition(sigmoid, logits, tokens, rows, sigmoid.routing(logits));
            if (seed % 2 == 0) { // softmax of tied logits is tied up to rounding only
                requireDefinition(softmax, logits, tokens, rows, softmax.routing(logits));
            }
        }
    }

    @Test
    void groupsAreTakenFromOneByOne() {
        double[] logits = new SplittableRandom(3).doubles(11 * 4, -3, 3).toArray();
        RouterConfig config =
                RouterConfig.topK(4, 2).withSelection(new ExpertChoice(RowLimit.rows(2), CapacityScope.groups(4)));
        Routing routing = config.routing(logits);
        requireDefinition(config, logits, 4, 2, routing);
        assertThat(routing.tokensPerExpert()).containsOnly(6);
        RouterConfig sequences =
                RouterConfig.topK(4, 2).withSelection(new ExpertChoice(RowLimit.rows(2), CapacityScope.sequences()));
        double[] unit = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
        TopKRouter router = TopKRouter.of(sequences, BACKEND.matrix(4, 4, unit));
        RoutingContext context = new RoutingContext(Optional.empty(), List.of(4, 4, 3), OptionalLong.empty());
        Matrix tokens = BACKEND.matrix(11, 4, logits);
        requireDefinition(sequences, logits, 4, 2, router.route(tokens, context).routing());
        requireDefinition(sequences, logits, 4, 2, router.routing(tokens, context));
    }

    /** What makes it unfit for decoders: a later token changes where an earlier one goes. */
    @Test
    void aLaterTokenTakesThePlaceOfAnEarlierOne() {
        RouterConfig config = config(2, 1, 1).withScore(new ScoreFunction.Sigmoid());
        double[] logits = {2, 0, 1, 0, 0, 1, 0, 2};
        assertThat(config.routing(logits).count(1)).isEqualTo(1);
        logits[6] = 9;
        assertThat(config.routing(logits).count(1)).isZero();
        assertThat(config.routing(logits).count(3)).isEqualTo(2);
    }

    /** Taken by logits, which are negative, not by zeros of tokens that were not assigned. */
    @Test
    void negativeChoiceScoresAreRankedAsTheyAre() {
        RouterConfig config = config(2, 1, 1).withRenormalization(new Renormalization.SoftmaxOfSelected());
        double[] logits = {-1, -9, -2, -8, -7, -3, -6, -4};
        Routing routing = config.routing(logits);
        assertThat(IntStream.range(0, 4).map(t -> routing.expert(t, 0)).toArray())
                .containsExactly(0, 0, 1, 1);
        assertThat(routing.weight(0, 0)).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({"1", "2", "3", "4"})
    void aLayerWithTokensOfNoExpertGoesForwardAndBack(long seed) {
        int experts = 4;
        RouterConfig config = config(experts, 1, 1.2).withScale(1.5);
        SplittableRandom random = new SplittableRandom(seed);
        double[] x = random.doubles(21, -1.5, 1.5).toArray();
        double[] w = random.doubles(12, -1.5, 1.5).toArray();
        double[] dY = random.doubles(21, -1, 1).toArray();
        SwiGluExperts bank = SwiGluExperts.random(new ExpertShape(experts, 3, 2), BACKEND, 5);
        MoeLayer layer = MoeLayer.of(TopKRouter.of(config, BACKEND.matrix(experts, 3, w)), bank);
        Matrix tokens = BACKEND.matrix(7, 3, x);
        try (MoePass pass = layer.forward(tokens)) {
            Routing routing = pass.routing();
            int[] without =
                    IntStream.range(0, 7).filter(t -> routing.count(t) == 0).toArray();
            for (int t : without) {
                for (int d = 0; d < 3; d++) {
                    assertThat(pass.output().get(t, d)).isZero();
                }
            }
            assertThat(layer.apply(tokens).toArray()).isEqualTo(pass.output().toArray());
            Gradients actual = pass.backward(BACKEND.matrix(7, 3, dY));
            double[] dX = FiniteDifferences.gradient(at -> loss(config, bank, at, w, dY), x);
            double[] dW = FiniteDifferences.gradient(at -> loss(config, bank, x, at, dY), w);
            double norm = FiniteDifferences.norm(dX, dW);
            assertThat(FiniteDifferences.worst(actual.input().toArray(), dX, norm))
                    .isLessThanOrEqualTo(1);
            assertThat(FiniteDifferences.worst(
                            actual.parameters().get("router.weight").toArray(), dW, norm))
                    .isLessThanOrEqualTo(1);
        }
    }

    private static double loss(RouterConfig config, SwiGluExperts bank, double[] x, double[] w, double[] dY) {
        MoeLayer layer = MoeLayer.of(TopKRouter.of(config, BACKEND.matrix(4, 3, w)), bank);
        double[] y = layer.apply(BACKEND.matrix(7, 3, x)).toArray();
        return IntStream.range(0, y.length).mapToDouble(i -> y[i] * dY[i]).sum();
    }

    @Test
    void weightsOfAVaryingNumberOfExpertsAddUpToOneWhereTheyAreRenormalised() {
        double[] logits = new SplittableRandom(8).doubles(30 * 6, -2, 2).toArray();
        RouterConfig config = config(6, 2, 1).withRenormalization(new Renormalization.Sum());
        Routing routing = config.routing(logits);
        for (int t = 0; t < 30; t++) {
            int token = t;
            double sum = IntStream.range(0, routing.count(t))
                    .mapToDouble(r -> routing.weight(token, r))
                    .sum();
            assertThat(sum).isCloseTo(routing.count(t) == 0 ? 0 : 1, within(1e-15));
        }
        assertThat(IntStream.range(0, 30).map(routing::count).distinct().count())
                .isGreaterThan(2);
        assertThat(config.unitSum()).isFalse(); // a token may have no weights at all
    }

    @Test
    void noTokensAreNoTokens() {
        assertThat(config(4, 2, 1).routing(new double[0]).tokens()).isZero();
    }

    @Test
    void aBiasHasNoEffectAndIsRefused() {
        assertThatThrownBy(() -> config(4, 2, 1).withSelectionBias(true))
                .hasMessageStartingWith("selectionBias: expected false with ExpertChoice[rows=OfShare[factor=1.0");
        assertThatThrownBy(() -> new ExpertChoice(RowLimit.rows(1), CapacityScope.batch()).select(new double[2], 1))
                .hasMessageStartingWith(
                        "selection: expected one that looks at one token at a time but was ExpertChoice");
    }
}
