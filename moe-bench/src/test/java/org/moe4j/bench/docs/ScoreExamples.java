package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.function.Consumer;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.RouterPrecision;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.TopKRouter;

/** Logits and scores. */
final class ScoreExamples {
    private static final ScoreFunction SOFTMAX = new ScoreFunction.Softmax();
    private static final ScoreFunction SIGMOID = new ScoreFunction.Sigmoid();
    private static final ScoreFunction SQRT_SOFTPLUS = new ScoreFunction.SqrtSoftplus();

    private ScoreExamples() {}

    static Map<String, Consumer<Example>> all() {
        return Map.of(
                "A bias on the logits", ScoreExamples::logitBias,
                "Precision of the logits", ScoreExamples::precision,
                "Logits that are not finite", ScoreExamples::notFinite,
                "The score function", ScoreExamples::scoreFunction,
                "An epsilon on every score", ScoreExamples::scoreEpsilon);
    }

    private static void logitBias(Example example) {
        double[] logits = example.given("Logits (2, 1, 0, −1)");
        RouterConfig config = RouterConfig.topK(4, (int) example.givenOne("K = 2"))
                .withRenormalization(new Renormalization.SoftmaxOfSelected());
        double[] bias = example.given("Bias (0, 0, 0, 2.5)");
        Routed added = Routed.withLogitBias(config, logits, bias);
        example.ours("experts 0 and 3", added.experts(), 0, 3);
        example.ours("weights 0.6225 and 0.3775", added.weights(), Plain.softmax(2, -1 + 2.5));
        Routed steered = Routed.withSelectionBias(config, 1, logits, bias);
        assertThat(steered.experts()).containsExactly(added.experts());
        example.ours("weights 0.9526 and 0.0474", steered.weights(), Plain.softmax(2, -1));
    }

    private static void precision(Example example) {
        double[] token = example.given("Token (1, 1)");
        double[] rows = example.given("rows (10, 0.015625) and (10, 0.0234375)");
        RouterConfig config = RouterConfig.topK(2, (int) example.givenOne("K = 1"));
        double[] logits = {rows[0] + rows[1], rows[2] + rows[3]};
        example.theirs("10.015625 and 10.0234375", logits);
        Backend backend = Nd4jBackend.float32();
        example.ours("expert 1", expert(config, backend, token, rows), 1);
        double[] merged = Plain.map(Plain::bfloat16, logits);
        assertThat(merged[1]).isEqualTo(merged[0]);
        example.theirs("both 10", merged[0]);
        example.theirs("expert 0", Plain.first(merged));
        double[] scores = {Plain.sigmoid(7), Plain.sigmoid(8)};
        example.theirs("σ(7) = 0.9991 and σ(8) = 0.9997", 7, scores[0], 8, scores[1]);
        assertThat(Plain.bfloat16(scores[0])).isEqualTo(Plain.bfloat16(scores[1]));
        example.theirs("both 1", Plain.bfloat16(scores[0]));
        double[] nearer = example.given("rows (10, 0) and (10, 2e-7)");
        example.ours("expert 0", expert(config, backend, token, nearer), 0);
        example.ours("expert 1", expert(config.withPrecision(RouterPrecision.DOUBLE), backend, token, nearer), 1);
    }

    private static int[] expert(RouterConfig config, Backend backend, double[] token, double[] rows) {
        try (TopKRouter router = TopKRouter.of(config, backend.matrix(2, 2, rows))) {
            return new int[] {
                router.route(backend.matrix(1, 2, token), RoutingContext.plain())
                        .routing()
                        .expert(0, 0)
            };
        }
    }

    private static void notFinite(Example example) {
        double[] given = example.given("Logits (1, NaN, 0), K = 1");
        RouterConfig config = RouterConfig.topK(3, (int) given[2]);
        assertThatThrownBy(() -> Routed.of(config, given[0], Double.NaN, given[1]))
                .isInstanceOf(ArithmeticException.class)
                .hasMessageContaining("token 0, expert 1");
        example.theirs("token 0 and expert 1", 0, 1);
        example.theirs("expert 1 is selected", 1);
        double[] others = {given[0], given[1]};
        example.ours("0.7311 and 0.5000", SIGMOID.scores(others), Plain.map(Plain::sigmoid, others));
        assertThat(Plain.softmax(1, Double.NaN, 0)).containsOnly(Double.NaN);
    }

    private static void scoreFunction(Example example) {
        double[] logits = example.given("Logits (2, 1, 0, −1)");
        double[] probabilities = Plain.softmax(logits);
        example.ours("(0.6439, 0.2369, 0.0871, 0.0321)", SOFTMAX.scores(logits), probabilities);
        example.ours("(0.8808, 0.7311, 0.5000, 0.2689)", SIGMOID.scores(logits), Plain.map(Plain::sigmoid, logits));
        example.ours(
                "(1.4584, 1.1460, 0.8326, 0.5597)",
                SQRT_SOFTPLUS.scores(logits),
                Plain.map(ScoreExamples::sqrtSoftplus, logits));
        int topK = (int) example.givenOne("K = 2");
        firstWeights(example, "0.7311, 0.5464 or 0.5600", topK, 0);
        firstWeights(example, "0.7311, 0.5196 or 0.5449", topK, example.givenOne("With 1 added"));
        example.theirs("(0.3596, 0.2393, 0.2061, 0.1950)", Plain.softmax(probabilities));
        scoresThatRoundToEqualOnes(example);
    }

    private static void scoresThatRoundToEqualOnes(Example example) {
        double[] large = example.given("Logits (40, 50, 0)");
        RouterConfig one = RouterConfig.topK(3, (int) example.givenOne("K = 1"));
        assertThat(Plain.sigmoid(37)).isEqualTo(1);
        example.ours(
                "sigmoid selects expert 0",
                Routed.of(one.withScore(SIGMOID), large).experts(),
                0);
        int[] softplus = Routed.of(one.withScore(SQRT_SOFTPLUS), large).experts();
        assertThat(Routed.of(one, large).experts()).isEqualTo(softplus);
        example.ours("two others expert 1", softplus, 1);
        double[] apart = example.given("Logits (0, −800, −760)");
        RouterConfig two = RouterConfig.topK(3, (int) example.givenOne("K = 2"));
        assertThat(StrictMath.exp(-746)).isZero();
        example.ours("softmax selects 0 and 1", Routed.of(two, apart).experts(), 0, 1);
        int[] roots = Routed.of(two.withScore(SQRT_SOFTPLUS), apart).experts();
        example.ours("sqrt-softplus 0 and 2", roots, 0, 2);
    }

    private static void firstWeights(Example example, String phrase, int topK, double added) {
        RouterConfig config = RouterConfig.topK(4, topK).withRenormalization(new Renormalization.Sum());
        double[] logits = {2 + added, 1 + added, added, -1 + added};
        double[] weights = {
            Routed.of(config, logits).weights()[0],
            Routed.of(config.withScore(SIGMOID), logits).weights()[0],
            Routed.of(config.withScore(SQRT_SOFTPLUS), logits).weights()[0]
        };
        double sigmoid = Plain.sigmoid(2 + added);
        double softplus = sqrtSoftplus(2 + added);
        example.ours(
                phrase,
                weights,
                Plain.sigmoid(1), // e²/(e² + e), whatever is added
                sigmoid / (sigmoid + Plain.sigmoid(1 + added)),
                softplus / (softplus + sqrtSoftplus(1 + added)));
    }

    private static double sqrtSoftplus(double logit) {
        return Math.sqrt(StrictMath.log(1 + StrictMath.exp(logit)));
    }

    private static void scoreEpsilon(Example example) {
        RouterConfig config = RouterConfig.topK(2, (int) example.givenOne("K = 2"))
                .withScore(SIGMOID)
                .withRenormalization(new Renormalization.Sum());
        double[] small = example.given("Logits (−20, −25)");
        double[] scores = Plain.map(Plain::sigmoid, small);
        example.ours("weights 0.9933 and 0.0067", Routed.of(config, small).weights(), Plain.divided(scores));
        double epsilon = example.givenOne("an epsilon of 1e-7");
        RouterConfig with = config.withScore(new ScoreFunction.Sigmoid(epsilon));
        example.ours(
                "0.5051 and 0.4949",
                Routed.of(with, small).weights(),
                Plain.divided(scores[0] + epsilon, scores[1] + epsilon));
        double[] ordinary = example.given("Logits (1, 0)");
        example.ours(
                "0.5938 and 0.4062",
                Routed.of(with, ordinary).weights(),
                Plain.divided(Plain.sigmoid(1) + epsilon, 0.5 + epsilon));
        assertThat(Routed.of(config, ordinary).weights()[0]).isBetween(0.59375, 0.59385);
    }
}
