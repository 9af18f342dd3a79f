package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.standin.CountingBackend;
import org.moe4j.router.ExpertSelection.GroupLimited;
import org.moe4j.router.Renormalization.EpsilonPlace;
import org.moe4j.router.loss.ZLoss;

class InheritedRowsTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final int HIDDEN = 5;
    private static final int TOKENS = 12;

    private static Matrix random(int rows, int columns, long seed) {
        double[] values = new SplittableRandom(seed)
                .doubles((long) rows * columns, -1.5, 1.5)
                .toArray();
        return BACKEND.matrix(rows, columns, values);
    }

    private static TopKRouter router(RouterConfig config) {
        Matrix weight = random(config.experts(), HIDDEN, 1);
        TopKRouter router = config.logitBias()
                ? TopKRouter.of(config, weight, random(1, config.experts(), 2))
                : TopKRouter.of(config, weight);
        return config.selectionBias()
                ? router.withSelectionBias(
                        SelectionBias.of(random(1, config.experts(), 3).toArray()))
                : router;
    }

    /** The parts of expert e at rank j have the ranks j·m to j·m + m − 1, in their order, and q times its weight. */
    private static void assertCopies(Routing wide, Routing plain, int copies, double q) {
        assertThat(wide.tokens()).isEqualTo(plain.tokens());
        for (int t = 0; t < plain.tokens(); t++) {
            assertThat(wide.count(t)).isEqualTo(copies * plain.count(t));
            for (int rank = 0; rank < wide.count(t); rank++) {
                int expert = plain.expert(t, rank / copies) * copies + rank % copies;
                double weight = q * plain.weight(t, rank / copies);
                assertThat(wide.expert(t, rank)).isEqualTo(expert);
                assertThat(wide.weight(t, rank)).isCloseTo(weight, within(1e-13 * Math.abs(weight)));
            }
        }
    }

    /** What the weight of a copy is by hand; NaN where an epsilon or a group score is in the way. */
    private static double byHand(RouterConfig config, int copies) {
        boolean softmax = config.score().equals(new ScoreFunction.Softmax());
        if (config.selection() instanceof GroupLimited limited
                && limited.groupScore().equals(new GroupScore.SumOfBest(2))) {
            return Double.NaN;
        }
        Renormalization rule = config.renormalization();
        if (rule.equals(new Renormalization.None())) {
            return softmax ? 1.0 / copies : 1;
        }
        if (rule instanceof Renormalization.Norm norm) {
            return 1 / Math.pow(copies, 1 / norm.p());
        }
        boolean epsilon = rule instanceof Renormalization.Sum sum && sum.epsilon() > 0;
        boolean perScore = rule instanceof Renormalization.Sum place && place.place() == EpsilonPlace.PER_SCORE;
        return epsilon && softmax == perScore ? Double.NaN : 1.0 / copies;
    }

    @ParameterizedTest
    @MethodSource("org.moe4j.router.RouterCombinationsTest#combinations")
    void copiesStandTogetherWithOneWeight(RouterConfig config) {
        TopKRouter router = router(config);
        Matrix tokens = random(TOKENS, HIDDEN, 4);
        Routing plain = router.routing(tokens, RoutingContext.plain());
        for (int copies = 1; copies <= 3; copies++) {
            int m = copies;
            double q = m == 1 ? 1 : byHand(config, m);
            if (Double.isNaN(q)) {
                assertThatThrownBy(() -> InheritedRows.of(router, m)).isInstanceOf(IllegalArgumentException.class);
                continue;
            }
            InheritedRows rows = InheritedRows.of(router, m);
            assertThat(rows.copies()).isEqualTo(m);
            assertThat(rows.weightOfCopy()).isCloseTo(q, within(1e-15));
            assertThat(rows.router().experts()).isEqualTo(m * config.experts());
            assertThat(rows.router().topK()).isEqualTo(m * config.topK());
            assertThat(rows.router().unitSum()).isEqualTo(router.unitSum());
            assertThat(rows.router().scale()).isEqualTo(router.scale());
            assertCopies(rows.router().routing(tokens, RoutingContext.plain()), plain, m, q);
            rows.router().close();
        }
    }

    @Test
    void theRouterOfThePartsHasHandlesOfItsOwnAlone() {
        CountingBackend counting = new CountingBackend();
        Backend backend = counting.backend();
        RouterConfig config = RouterConfig.topK(2, 1).withLogitBias(true).withSelectionBias(true);
        TopKRouter router = TopKRouter.of(
                        config, backend.matrix(2, 1, new double[] {1, 2}), backend.matrix(1, 2, new double[] {3, 4}))
                .withNoise(new RouterNoise.InputJitter(0.1));
        int before = counting.open();
        InheritedRows.of(router, 3).router().close();
        assertThat(counting.open()).isEqualTo(before);
        counting.failAfter(1);
        assertThatThrownBy(() -> InheritedRows.of(router, 3)).isInstanceOf(CountingBackend.Failure.class);
        assertThat(counting.open()).isEqualTo(before);
    }

    /** What is refused for an epsilon has no q: the ratio of weights differs from token to token. */
    @ParameterizedTest
    @MethodSource("org.moe4j.router.RouterCombinationsTest#combinations")
    void whereAnEpsilonIsRefusedThereIsNoSuchNumber(RouterConfig config) {
        if (!Double.isNaN(byHand(config, 2))
                || Double.isNaN(byHand(config.withRenormalization(new Renormalization.None()), 2))) {
            return;
        }
        double[] logits = random(TOKENS, config.experts(), 5).toArray();
        double[] repeated = new double[2 * logits.length];
        Arrays.setAll(repeated, i -> logits[i / 2]);
        RouterConfig wide = config.withSelectionBias(false)
                .withExperts(2 * config.experts())
                .withTopK(2 * config.topK());
        Routing plain = config.withSelectionBias(false).routing(logits);
        Routing copies = wide.routing(repeated);
        double low = Double.POSITIVE_INFINITY;
        double high = 0;
        for (int t = 0; t < TOKENS; t++) {
            double ratio = copies.weight(t, 0) / plain.weight(t, 0);
            low = Math.min(low, ratio);
            high = Math.max(high, ratio);
        }
        boolean everywhereBelow = config.renormalization().equals(new Renormalization.Sum(100, EpsilonPlace.FLOOR));
        boolean nowhereBelow = config.renormalization().equals(new Renormalization.Sum(.01, EpsilonPlace.FLOOR));
        if (everywhereBelow || nowhereBelow) { // one number for these tokens, the other of the two for other ones
            assertThat(high / low - 1).isLessThan(1e-12);
            assertThat(low).isCloseTo(everywhereBelow ? 1 : 0.5, within(1e-12));
        } else {
            assertThat(high / low - 1).isGreaterThan(1e-3);
        }
    }

    /** Experts 1, 3 and 4 tie for the second place, which the lowest index gets, with all its copies. */
    @Test
    void exactTiesGoToTheLowerIndexWithAllCopies() {
        double[] logits = {-1, 2, 5, 2, 2, 0};
        double[] weight = new double[6 * 2];
        for (int e = 0; e < 6; e++) {
            weight[2 * e] = logits[e];
        }
        for (RouterConfig config : new RouterConfig[] {
            RouterConfig.topK(6, 2),
            RouterConfig.topK(6, 2).withScore(new ScoreFunction.Sigmoid()),
            RouterConfig.topK(6, 2).withRenormalization(new Renormalization.SoftmaxOfSelected()),
            RouterConfig.topK(6, 3).withSelection(new GroupLimited(3, 2, new GroupScore.Max()))
        }) {
            TopKRouter router = TopKRouter.of(config, BACKEND.matrix(6, 2, weight));
            Matrix token = BACKEND.matrix(1, 2, new double[] {1, 0});
            Routing plain = router.routing(token, RoutingContext.plain());
            assertThat(plain.expert(0, 0)).isEqualTo(2);
            assertThat(plain.expert(0, 1)).isEqualTo(1);
            for (int m = 2; m <= 5; m++) {
                InheritedRows rows = InheritedRows.of(router, m);
                assertCopies(rows.router().routing(token, RoutingContext.plain()), plain, m, rows.weightOfCopy());
            }
        }
    }

    @Test
    void aRouterWithoutOpinionTakesTheFirstExpertsWithAllTheirCopies() {
        TopKRouter router = TopKRouter.of(RouterConfig.topK(7, 3), BACKEND.matrix(7, 2, new double[14]));
        Routing wide = InheritedRows.of(router, 4).router().routing(random(3, 2, 1), RoutingContext.plain());
        for (int rank = 0; rank < 12; rank++) {
            assertThat(wide.expert(2, rank)).isEqualTo(rank);
        }
    }

    /** A jitter multiplies what all rows see. */
    @Test
    void aJitterOfTheInputGoesOver() {
        RouterConfig config = RouterConfig.topK(8, 2);
        TopKRouter router = router(config).withNoise(new RouterNoise.InputJitter(0.3));
        InheritedRows rows = InheritedRows.of(router, 2);
        Matrix tokens = random(TOKENS, HIDDEN, 4);
        RoutingContext seeded = RoutingContext.plain().withSeed(7);
        assertThat(rows.router().noise()).isEqualTo(router.noise());
        Routing plain = router.routing(tokens, seeded);
        assertCopies(rows.router().routing(tokens, seeded), plain, 2, 0.5);
        assertThat(plain.weight(0, 0))
                .isNotEqualTo(router.routing(tokens, RoutingContext.plain()).weight(0, 0));
    }

    @Test
    void theResultHasParametersOfItsOwn() {
        TopKRouter router = router(RouterConfig.topK(3, 1).withLogitBias(true));
        InheritedRows rows = InheritedRows.of(router, 2);
        double[] weight = router.parameters().get("weight").toArray();
        double[] bias = router.parameters().get("bias").toArray();
        router.close();
        double[] wide = rows.router().parameters().get("weight").toArray();
        double[] wideBias = rows.router().parameters().get("bias").toArray();
        for (int e = 0; e < 6; e++) {
            assertThat(wideBias[e]).isEqualTo(bias[e / 2]);
            for (int d = 0; d < HIDDEN; d++) {
                assertThat(wide[e * HIDDEN + d]).isEqualTo(weight[e / 2 * HIDDEN + d]);
            }
        }
    }

    private static void refused(RouterConfig config, String message) {
        assertThatThrownBy(() -> InheritedRows.weightOfCopy(config, 2))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void selectionsThatSeparateCopiesAreRefused() {
        RouterConfig config = RouterConfig.topK(8, 2);
        for (ExpertSelection selection : new ExpertSelection[] {
            new ExpertSelection.TopTwo(new SecondExpert.All()),
            new ExpertSelection.TopTwo(new SecondExpert.Random(0.2)),
            new ExpertSelection.Sinkhorn(),
            new ExpertSelection.ExpertChoice(RowLimit.factor(1), CapacityScope.batch())
        }) {
            refused(
                    config.withSelection(selection),
                    "selection: expected one that takes the K·m best of a token's scores, PlainTopK or GroupLimited but was "
                            + selection + "; copies of an expert are not selected together otherwise");
        }
        refused(
                config.withSelection(new GroupLimited(4, 2, new GroupScore.SumOfBest(2))),
                "selection.groupScore: expected one that counts an expert once, or as often as all its copies but was"
                        + " SumOfBest[m=2]; copies of a group's best would stand for its others");
        assertThat(InheritedRows.weightOfCopy(
                        config.withSelection(new GroupLimited(4, 2, new GroupScore.SumOfBest(1))), 2))
                .isEqualTo(0.5);
    }

    @Test
    void anEpsilonWhoseShareChangesIsRefused() {
        String end = "]; Renormalization.Sum without an epsilon differs only where that matters";
        refused(
                RouterConfig.topK(8, 2)
                        .withScore(new ScoreFunction.Sigmoid())
                        .withRenormalization(new Renormalization.Sum(1e-20, EpsilonPlace.IN_SUM)),
                "renormalization.epsilon: expected 0 where its share of the sum changes with copies (scores add up to m times"
                        + " as much) but was Sum[epsilon=1.0E-20, place=IN_SUM" + end);
        refused(
                RouterConfig.topK(8, 2).withRenormalization(new Renormalization.Sum(0.5, EpsilonPlace.PER_SCORE)),
                "renormalization.epsilon: expected 0 where its share of the sum changes with copies (one per score, whose"
                        + " number is m times as large) but was Sum[epsilon=0.5, place=PER_SCORE" + end);
    }

    @Test
    void countsThatAreNoneAreRefused() {
        RouterConfig config = RouterConfig.topK(8, 2);
        assertThatThrownBy(() -> InheritedRows.weightOfCopy(config, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("copies: expected at least 1 but was 0");
        assertThatThrownBy(() -> InheritedRows.weightOfCopy(config, 1 << 28))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("copies: expected at most 2^31 - 1 experts in all but was 2147483648");
    }

    @Test
    void noiseOnLogitsAndLossesAreRefused() {
        TopKRouter router = router(RouterConfig.topK(8, 2));
        assertThatThrownBy(() -> InheritedRows.of(router.withNoise(new RouterNoise.FixedNormal(1)), 2))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("router.noise: expected none on the logits, which copies would not share but was"
                        + " FixedNormal[deviation=1.0]");
        assertThatThrownBy(() -> InheritedRows.of(router.withNoise(new RouterNoise.LearnedNormal(0.01)), 2))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("router.noise: expected none on the logits");
        assertThatThrownBy(() -> InheritedRows.of(router.withLosses(new ZLoss(0.1)), 2))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("router.losses: expected none (values and gradients are other numbers for other"
                        + " experts) but was [ZLoss[")
                .hasMessageEndingWith("]; router.withLosses() has none; give the result its own");
    }
}
