package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.RouterPrecision;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKRouter;

/** Order of experts, and the bias that steers it. */
final class ChoiceExamples {
    private static final RouterConfig SIGMOIDS = RouterConfig.topK(4, 2)
            .withScore(new ScoreFunction.Sigmoid())
            .withRenormalization(new Renormalization.Sum());

    private ChoiceExamples() {}

    static Map<String, Consumer<Example>> all() {
        return Map.of(
                "Order of a token's experts, and ties", ChoiceExamples::ties,
                "A bias for the choice only", ChoiceExamples::selectionBias,
                "How that bias is updated", ChoiceExamples::update,
                "Which routing is counted", ChoiceExamples::counted);
    }

    private static void ties(Example example) {
        double[] logits = example.given("Logits (1, 1, 0, 1)");
        int topK = (int) example.givenOne("K = 2");
        example.ours(
                "we select 0 and 1",
                Routed.of(RouterConfig.topK(4, topK), logits).experts(),
                0,
                1);
        Comparator<Integer> higherIndexFirst = Comparator.<Integer>comparingDouble(e -> logits[e])
                .thenComparing(e -> e)
                .reversed();
        double[] higher = IntStream.range(0, 4)
                .boxed()
                .sorted(higherIndexFirst)
                .limit(topK)
                .mapToDouble(e -> e)
                .toArray();
        example.theirs("selects 3 and 1", higher);
        double step = example.givenOne("1e-6");
        double[] scores = example.given("0.5 and 0.5000005");
        double[] forced = {scores[0], scores[1] - step};
        assertThat(Plain.first(scores)).isEqualTo(1);
        assertThat(Plain.first(forced)).isEqualTo(0);
        example.theirs("0.5 and 0.4999995", forced);
        equalRows(example);
    }

    private static void equalRows(Example example) {
        int experts = (int) example.givenOne("61 equal rows");
        RouterConfig config =
                RouterConfig.topK(experts, (int) example.givenOne("K = 4")).withPrecision(RouterPrecision.DOUBLE);
        Backend backend = Nd4jBackend.float32();
        Matrix row = Initializer.normal(1).draw(backend, 1, 1000, 1);
        double[] weights = new double[experts * row.columns()];
        Arrays.setAll(weights, i -> row.get(0, i % row.columns()));
        Matrix token = Initializer.normal(1).draw(backend, 3, row.columns(), 2);
        try (row;
                token;
                TopKRouter router = TopKRouter.of(config, backend.matrix(experts, row.columns(), weights))) {
            Routing routing = router.route(token, RoutingContext.plain()).routing();
            for (int t = 0; t < routing.tokens(); t++) {
                int at = t;
                assertThat(IntStream.range(0, 4).map(rank -> routing.expert(at, rank)))
                        .containsExactly(0, 1, 2, 3);
            }
            example.theirs("experts 0, 1, 2 and 3", 0, 1, 2, 3);
        }
    }

    private static void selectionBias(Example example) {
        double[] logits = example.given("Logits (2, 1, 0, −1)");
        RouterConfig config = SIGMOIDS.withTopK((int) example.givenOne("K = 2"));
        double[] scores = Plain.map(Plain::sigmoid, logits);
        double[] bias = example.given("bias (−0.3, 0, 0.3, 0)");
        Routed routed = Routed.withSelectionBias(config, 1, logits, bias);
        example.ours("scores (0.8808, 0.7311, 0.5000, 0.2689)", routed.scores(), scores);
        double[] biased = Plain.plus(scores, bias);
        example.ours("(0.5808, 0.7311, 0.8000, 0.2689)", routed.choiceScores(), biased);
        example.ours("experts 2 and 1", routed.experts(), 2, 1);
        example.ours("weights 0.4062 and 0.5938", routed.weights(), Plain.divided(Plain.at(scores, 2, 1)));
        example.theirs("0.5225 and 0.4775", Plain.divided(Plain.at(biased, 2, 1)));
        example.ours("experts 0 and 1", Routed.of(config, logits).experts(), 0, 1);
    }

    private static void update(Example example) {
        int[] counts = whole(example.given("Counts (6, 2, 3, 1)"));
        example.theirs("mean 3", Arrays.stream(counts).average().orElseThrow());
        double rate = example.givenOne("γ = 0.001");
        SelectionBias zeros = SelectionBias.zeros(4);
        example.ours("(−0.001, 0.001, 0, 0.001)", zeros.updated(counts, rate).values(), -rate, rate, 0, rate);
        example.ours(
                "(−0.00125, 0.00075, −0.00025, 0.00075)",
                zeros.updatedCentered(counts, rate).values(),
                -1.25 * rate,
                0.75 * rate,
                -0.25 * rate,
                0.75 * rate);
        double[] half = example.given("0.5 + 0.001");
        example.theirs("= 0.5", Plain.bfloat16(half[0] + half[1]));
        int[] near = whole(example.given("(257, 256, 256, 255)"));
        example.ours("(−0.001, 0, 0, 0.001)", zeros.updated(near, rate).values(), -rate, 0, 0, rate);
        double[] rounded = Arrays.stream(near).mapToDouble(Plain::bfloat16).toArray();
        example.theirs("(256, 256, 256, 255)", rounded);
        double mean = Plain.sum(rounded) / 4;
        example.theirs(
                "(−0.001, −0.001, −0.001, 0.001)", Plain.map(count -> rate * Math.signum(mean - count), rounded));
    }

    private static int[] whole(double... numbers) {
        return Arrays.stream(numbers).mapToInt(number -> (int) number).toArray();
    }

    private static void counted(Example example) {
        double[] logits = example.given("logits (2, 1, 0, −1)");
        double[] bias = example.given("bias (−0.3, 0, 0.3, 0)");
        RouterConfig config = SIGMOIDS.withTopK((int) example.givenOne("K = 2"));
        int[] actual = Routed.withSelectionBias(config, 2, logits, bias).counts();
        example.ours("counts (0, 2, 2, 0)", actual, 0, 2, 2, 0);
        double rate = example.givenOne("0.001");
        SelectionBias before = SelectionBias.of(bias);
        example.ours("to −0.299", before.updated(actual, rate).values()[0], -0.3 + rate);
        example.theirs("counts (2, 2, 0, 0)", 2, 2, 0, 0); // the two largest logits of each token
        example.theirs("to −0.301", -0.3 + rate * Math.signum(1 - 2));
    }
}
