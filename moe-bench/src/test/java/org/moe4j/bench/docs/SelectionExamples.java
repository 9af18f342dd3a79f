package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.RouterNoise;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.SecondExpert;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKPass;
import org.moe4j.router.TopKRouter;

/** Noise, and selections that are random or look at a whole batch. */
final class SelectionExamples {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final RoutingContext SEEDED = new RoutingContext(Optional.empty(), List.of(), OptionalLong.of(1));

    private SelectionExamples() {}

    static Map<String, Consumer<Example>> all() {
        return Map.of(
                "Noise on the router", SelectionExamples::noise,
                "The second of two experts", SelectionExamples::second,
                "Expert choice", SelectionExamples::expertChoice,
                "Sinkhorn's assignment", SelectionExamples::sinkhorn,
                "Quantile balancing", SelectionExamples::quantiles);
    }

    private static void noise(Example example) {
        int experts = (int) example.givenOne("E = 4");
        TopKRouter zeros =
                TopKRouter.of(RouterConfig.topK(experts, 1), BACKEND.matrix(experts, 1, new double[experts]));
        Matrix token = BACKEND.matrix(1, 1, new double[] {1});
        example.ours(
                "deviation 0.25", deviation(zeros.withNoise(new RouterNoise.FixedNormal(1)), token), 1.0 / experts);
        assertThat(example.givenOne("weights are 0")).isZero();
        example.ours(
                "has 0.7031", deviation(zeros.withNoise(new RouterNoise.LearnedNormal(.01)), token), Math.log(2) + .01);
        double epsilon = example.givenOne("ε = 0.01");
        double logit = example.givenOne("logit 2");
        example.theirs("between 1.98 and 2.02", logit * (1 - epsilon), logit * (1 + epsilon));
        double[] rows = new double[1000];
        Arrays.fill(rows, logit);
        TopKRouter one = TopKRouter.of(RouterConfig.topK(1, 1), BACKEND.matrix(1, 1, new double[] {1}));
        double[] jittered = one.withNoise(new RouterNoise.InputJitter(epsilon))
                .route(BACKEND.matrix(rows.length, 1, rows), SEEDED)
                .logits();
        assertThat(Arrays.stream(jittered).min().orElseThrow()).isBetween(1.98, 1.981);
        assertThat(Arrays.stream(jittered).max().orElseThrow()).isBetween(2.019, 2.02);
    }

    private static double deviation(TopKRouter router, Matrix token) {
        return router.route(token, SEEDED).noiseDeviations().orElseThrow()[0];
    }

    private static void second(Example example) {
        double[] logits = example.given("Logits (2, 1, 0, −1)");
        double[] p = Plain.softmax(logits);
        RouterConfig config = RouterConfig.topK(4, 2)
                .withSelection(new ExpertSelection.TopTwo(new SecondExpert.All()))
                .withRenormalization(new Renormalization.Sum());
        double[] weights = Routed.of(config, logits).weights();
        example.ours("weights 0.7311 and 0.2689", weights, Plain.divided(p[0], p[1]));
        double threshold = example.givenOne("threshold 0.5");
        example.theirs("probability 0.5379", weights[1] / threshold);
        example.theirs("0.2369, with 0.4738", p[1], p[1] / threshold);
        example.theirs("the first weight is 0.7311", weights[0]);
        TopKRouter random = router(config, new SecondExpert.Random(threshold), logits);
        Routing routing = random.route(ones(20_000), SEEDED).routing();
        double kept = (double) (routing.slots() - routing.tokens()) / routing.tokens();
        assertThat(kept).isCloseTo(weights[1] / threshold, within(5 * Math.sqrt(.25 / routing.tokens())));
        int left = IntStream.range(0, routing.tokens())
                .filter(t -> routing.count(t) == 1)
                .findFirst()
                .orElseThrow();
        assertThat(routing.weight(left, 0)).isEqualTo(weights[0]);
        example.given("experts 1, 2 and 3");
        double[] others = Plain.softmax(logits[1], logits[2], logits[3]);
        example.theirs("0.6652, 0.2447 and 0.0900", others);
        int[] counts = router(config, new SecondExpert.Sampled(), logits)
                .route(ones(20_000), SEEDED)
                .routing()
                .tokensPerExpert();
        for (int e = 1; e < 4; e++) {
            assertThat(counts[e] / 20_000.0).isCloseTo(others[e - 1], within(5 * Math.sqrt(.25 / 20_000)));
        }
    }

    private static TopKRouter router(RouterConfig config, SecondExpert rule, double... logits) {
        return TopKRouter.of(
                config.withSelection(new ExpertSelection.TopTwo(rule)), BACKEND.matrix(logits.length, 1, logits));
    }

    private static Matrix ones(int tokens) {
        double[] ones = new double[tokens];
        Arrays.fill(ones, 1);
        return BACKEND.matrix(tokens, 1, ones);
    }

    private static void expertChoice(Example example) {
        example.given("E = 2, K = 1");
        double[] logits = example.given("(2, 1), (1, 0), (0, −1)");
        double[] rows = example.given("C = ⌈3·1/2⌉ = 2");
        Routing routing = RouterConfig.topK(2, 1)
                .withScore(new ScoreFunction.Sigmoid())
                .withSelection(new ExpertSelection.ExpertChoice(RowLimit.factor(1), CapacityScope.batch()))
                .routing(logits);
        assertThat(routing.tokensPerExpert()).containsExactly((int) rows[3], (int) rows[3]);
        example.given("tokens 0 and 1");
        assertThat(routing.count((int) example.givenOne("token 2"))).isZero();
        double[] s = Plain.map(Plain::sigmoid, logits);
        example.ours(
                "0.8808 and 0.7311 of token 0",
                new double[] {routing.weight(0, 0), routing.weight(0, 1), 0},
                s[0],
                s[1],
                0);
        example.ours(
                "0.7311 and 0.5000 of token 1",
                new double[] {routing.weight(1, 0), routing.weight(1, 1), 1},
                s[2],
                s[3],
                1);
    }

    private static void sinkhorn(Example example) {
        RouterConfig config =
                RouterConfig.topK(2, (int) example.givenOne("K = 1")).withScore(new ScoreFunction.Sigmoid());
        double[] logits = example.given("(2, 0) and (1, 0)");
        double[] s = Plain.map(Plain::sigmoid, logits);
        Routing alone = config.routing(logits);
        assertThat(alone.tokensPerExpert()).containsExactly(2, 0);
        example.given("expert 0");
        double[] aloneWeights = {alone.weight(0, 0), alone.weight(1, 0)};
        example.ours("weights 0.8808 and 0.7311", aloneWeights, s[0], s[2]);
        // equal sums of 1/2: x / (1/2 − x) is the root of the cross ratio e^(2 − 0 − 1 + 0)
        double root = Math.exp((logits[0] - logits[1] - logits[2] + logits[3]) / 2);
        double x = .5 * root / (1 + root);
        example.theirs("0.3112 and 0.1888", x, .5 - x);
        example.theirs("0.1888 and 0.3112", .5 - x, x);
        Routing balanced = config.withSelection(new ExpertSelection.Sinkhorn()).routing(logits);
        int[] chosen = {balanced.expert(0, 0), balanced.expert(1, 0)};
        example.ours("experts 0 and 1", chosen, 0, 1);
        double[] weights = {balanced.weight(0, 0), balanced.weight(1, 0)};
        example.ours("weights 0.8808 and 0.5000", weights, s[0], s[3]);
    }

    private static void quantiles(Example example) {
        RouterConfig config =
                RouterConfig.topK(2, (int) example.givenOne("K = 1")).withSelectionBias(true);
        double[] logits = example.given("(1, 0) and (2, 0)");
        TopKPass pass = TopKRouter.of(config, BACKEND.matrix(2, 2, new double[] {1, 0, 0, 1}))
                .route(BACKEND.matrix(2, 2, logits), RoutingContext.plain());
        double[] p = Plain.join(Plain.softmax(logits[0], logits[1]), Plain.softmax(logits[2], logits[3]));
        example.ours("(0.7311, 0.2689) and (0.8808, 0.1192)", pass.scores(), p);
        example.theirs("α = 0.2689 and 0.1192", p[1], p[3]);
        example.given("Expert 0");
        double[] differences = {p[0] - p[1], p[2] - p[3]};
        example.theirs("0.4621 and 0.7616", differences);
        example.given("rank 1");
        example.theirs("is 0.4621", differences[0]);
        example.given("expert 1");
        example.theirs("0 and 0", 0, 0);
        SelectionBias asked = pass.quantileBias();
        example.requireEqual(asked.values(), new double[] {-differences[0], 0});
        example.theirs("(−0.4621, 0)", asked.values());
        double[] centred =
                SelectionBias.zeros(2).updatedByQuantiles(List.of(asked), 0).values();
        example.ours("(−0.2311, 0.2311)", centred, -differences[0] / 2, differences[0] / 2);
    }
}
