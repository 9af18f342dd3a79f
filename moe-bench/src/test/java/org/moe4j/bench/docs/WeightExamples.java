package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.function.Consumer;
import org.moe4j.router.Renormalization;
import org.moe4j.router.Renormalization.EpsilonPlace;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.ScoreFunction;

/** From the scores of the selected experts to weights. */
final class WeightExamples {
    private static final Renormalization SUM = new Renormalization.Sum();
    private static final ScoreFunction SIGMOID = new ScoreFunction.Sigmoid();

    private WeightExamples() {}

    static Map<String, Consumer<Example>> all() {
        return Map.of(
                "Softmax before or after top-k; renormalised or not", WeightExamples::renormalised,
                "The epsilon of the sum", WeightExamples::epsilonOfTheSum,
                "L_p norms", WeightExamples::norms,
                "One expert per token", WeightExamples::oneExpert,
                "The routed scale", WeightExamples::scale,
                "Framework defaults and model recipes", WeightExamples::defaults);
    }

    private static void renormalised(Example example) {
        double[] logits = example.given("Logits (2, 1, 0, −1)");
        RouterConfig raw = RouterConfig.topK(4, (int) example.givenOne("K = 2"));
        double[] p = Plain.softmax(logits);
        Routed none = Routed.of(raw, logits);
        example.ours("(0.6439, 0.2369, 0.0871, 0.0321)", none.scores(), p);
        example.ours("weights 0.6439 and 0.2369", none.weights(), p[0], p[1]);
        example.ours("mass 0.8808", none.mass(), Plain.sigmoid(2)); // (e² + e)/(e² + e + 1 + 1/e)
        Routed sum = Routed.of(raw.withRenormalization(SUM), logits);
        Routed after = Routed.of(raw.withRenormalization(new Renormalization.SoftmaxOfSelected()), logits);
        double w = Plain.sigmoid(1);
        example.ours("`sum`: 0.7311 and 0.2689, mass 1", Plain.join(sum.weights(), sum.mass()), w, 1 - w, 1);
        double[] selected = example.given("(2, 1)");
        example.ours("0.7311 and 0.2689", after.weights(), Plain.softmax(selected));
        double[] dWeights = example.given("be (1, 0)");
        example.ours(
                "(0.2293, −0.1525, −0.0561, −0.0206)",
                none.logitGradients(dWeights),
                p[0] * (1 - p[0]),
                -p[0] * p[1],
                -p[0] * p[2],
                -p[0] * p[3]);
        assertThat(sum.logitGradients(dWeights)[0] + sum.logitGradients(dWeights)[1])
                .isZero();
        example.ours("(0.1966, −0.1966, 0, 0)", after.logitGradients(dWeights), w * (1 - w), -w * (1 - w), 0, 0);
        example.requireEqual(sum.logitGradients(dWeights), after.logitGradients(dWeights));
    }

    private static void epsilonOfTheSum(Example example) {
        double[] scores = example.given("Scores 0.3 and 0.1");
        double epsilon = example.givenOne("an ε of 0.1");
        Renormalization inSum = new Renormalization.Sum(epsilon, EpsilonPlace.IN_SUM);
        Renormalization perScore = new Renormalization.Sum(epsilon, EpsilonPlace.PER_SCORE);
        Renormalization floor = new Renormalization.Sum(epsilon, EpsilonPlace.FLOOR);
        example.ours("in the sum 0.6 and 0.2", inSum.weights(scores), 0.3 / 0.5, 0.1 / 0.5);
        example.ours("per score 0.6667 and 0.3333", perScore.weights(scores), 2.0 / 3, 1.0 / 3);
        example.ours("as a floor 0.75 and 0.25", floor.weights(scores), 0.3 / 0.4, 0.1 / 0.4);
        example.requireEqual(SUM.weights(scores), floor.weights(scores));
        double[] zeros = example.given("Scores 0 and 0");
        example.ours("in the sum 0 and 0", inSum.weights(zeros), 0, 0);
        example.ours("per score 0.5 and 0.5", perScore.weights(zeros), 0.5, 0.5);
        example.ours("as a floor 0 and 0", floor.weights(zeros), 0, 0);
        assertThatThrownBy(() -> SUM.weights(zeros)).isInstanceOf(ArithmeticException.class);
        underflowBehindABias(example);
        underflow(example);
        double tiny = example.given("0.3 + 0.1 + 1e-20")[2];
        example.theirs("is 0.4", 0.3 + 0.1 + tiny);
        assertThat(0.3 + 0.1 + tiny).isEqualTo(0.3 + 0.1);
        assertThat(new Renormalization.Sum(tiny, EpsilonPlace.IN_SUM).weights(scores))
                .isEqualTo(SUM.weights(scores));
    }

    private static void underflowBehindABias(Example example) {
        double[] logits = example.given("(0, −800, −800)");
        double[] bias = example.given("(0, 2, 2)");
        RouterConfig config = RouterConfig.topK(3, (int) example.givenOne("K = 2"));
        assertThat(Plain.softmax(logits)).containsExactly(1, 0, 0);
        assertThat(Routed.withSelectionBias(config, 1, logits, bias).experts()).containsExactly(1, 2);
        assertThatThrownBy(() -> Routed.withSelectionBias(config.withRenormalization(SUM), 1, logits, bias))
                .isInstanceOf(ArithmeticException.class)
                .hasMessageContaining("token 0");
        assertThatThrownBy(() -> SUM.weights(new double[] {0.9e-290, 0})).isInstanceOf(ArithmeticException.class);
        assertThat(SUM.weights(new double[] {1e-290, 0})).containsExactly(1, 0);
    }

    private static void underflow(Example example) {
        double[] logits = example.given("Sigmoids of −100 and −101");
        double[] scores = SIGMOID.scores(logits);
        double[] byHand = Plain.map(StrictMath::exp, logits); // the 1 of the denominator is below the last bit
        example.ours("3.72e-44 and 1.37e-44", scores, byHand);
        double w = Plain.sigmoid(1);
        example.ours("without epsilon 0.7311 and 0.2689", SUM.weights(scores), w, 1 - w);
        double tiny = example.givenOne("with 1e-20");
        example.ours(
                "3.72e-24 and 1.37e-24",
                new Renormalization.Sum(tiny, EpsilonPlace.IN_SUM).weights(scores),
                byHand[0] / tiny,
                byHand[1] / tiny);
        example.theirs("in float32, 0 and 0", Plain.map(WeightExamples::singleSigmoid, logits));
        assertThat(singleSigmoid(-88.6)).isPositive();
        assertThat(singleSigmoid(-88.8)).isZero();
    }

    /** The sigmoid as it is often written, with every step rounded to single precision. */
    private static double singleSigmoid(double logit) {
        float power = (float) StrictMath.exp(-logit);
        return 1 / (1 + power);
    }

    private static void norms(Example example) {
        double[] scores = example.given("Scores 0.4 and 0.3");
        example.ours(
                "p = 1: 0.5714 and 0.4286",
                Plain.join(new double[] {1}, new Renormalization.Norm(1).weights(scores)),
                1,
                4.0 / 7,
                3.0 / 7);
        double[] two = new Renormalization.Norm(example.givenOne("p = 2")).weights(scores);
        example.ours("the norm is 0.5", scores[0] / two[0], 0.5);
        example.ours("weights 0.8 and 0.6", two, 0.8, 0.6);
        example.ours("sum 1.4", Plain.sum(two), 1.4);
        double[] half = new Renormalization.Norm(example.givenOne("p = 0.5")).weights(scores);
        double norm = 0.7 + 2 * Math.sqrt(0.12); // (√0.4 + √0.3)²
        example.ours("0.2872 and 0.2154", half, 0.4 / norm, 0.3 / norm);
        example.ours("sum 0.5026", Plain.sum(half), 0.7 / norm);
    }

    private static void oneExpert(Example example) {
        double[] logits = example.given("Logits (1, 0)");
        RouterConfig raw = RouterConfig.topK(2, (int) example.givenOne("K = 1"));
        double dWeight = example.givenOne("∂ℓ/∂w = 1");
        Routed sum = Routed.of(raw.withRenormalization(SUM), logits);
        example.ours("weight 1", sum.weights(), 1);
        example.ours("gradients (0, 0)", sum.logitGradients(dWeight), 0, 0);
        Routed softmax = Routed.of(raw, logits);
        double w = Plain.sigmoid(1);
        example.ours("weight 0.7311", softmax.weights(), w);
        example.ours("gradients (0.1966, −0.1966)", softmax.logitGradients(dWeight), w * (1 - w), -w * (1 - w));
        Routed sigmoid = Routed.of(raw.withScore(SIGMOID), logits);
        example.ours("weight 0.7311", sigmoid.weights(), w);
        example.ours("gradients (0.1966, 0)", sigmoid.logitGradients(dWeight), w * (1 - w), 0);
        example.theirs("0.75 and 0.25", Plain.divided(example.given("The scores 0.6 and 0.2")));
    }

    private static void scale(Example example) {
        double[] logits = Plain.map(StrictMath::log, example.given("Logits ln 3 and ln 2"));
        RouterConfig sum = RouterConfig.topK(2, (int) example.givenOne("K = 2")).withRenormalization(SUM);
        example.ours("weights 0.6 and 0.4", Routed.of(sum, logits).weights(), 0.6, 0.4);
        double scale = example.givenOne("with scale 2.5");
        Routed scaled = Routed.of(sum.withScale(scale), logits);
        example.ours("1.5 and 1.0, mass 2.5", Plain.join(scaled.weights(), scaled.mass()), 1.5, 1, 2.5);
        example.theirs("mass 6.25", scale * scale);
        double[] four = example.given("Logits (2, 1, 0, −1)");
        RouterConfig none = RouterConfig.topK(4, (int) example.givenOne("K = 2"));
        example.ours("mass 0.8808", Routed.of(none, four).mass(), Plain.sigmoid(2));
        Routed large = Routed.of(none.withScale(example.givenOne("scale 16")), four);
        example.ours("mass 14.0928", large.mass(), 16 * Plain.sigmoid(2));
        example.theirs("mass 0.8808", Plain.sigmoid(2));
        double zero = example.givenOne("Scale 0");
        assertThatThrownBy(() -> none.withScale(zero)).isInstanceOf(IllegalArgumentException.class);
        example.theirs("mass 1", Plain.sum(Plain.softmax(2, 1)));
        example.theirs("mass 0", zero * Plain.sigmoid(2));
    }

    private static void defaults(Example example) {
        double[] logits = example.given("Logits (2, 1, 0, −1)");
        RouterConfig raw = RouterConfig.topK(4, (int) example.givenOne("K = 2"));
        RouterConfig sum = raw.withRenormalization(SUM);
        example.ours("mass 0.8808", Routed.of(raw, logits).mass(), Plain.sigmoid(2));
        example.ours("as true 1", Routed.of(sum, logits).mass(), 1);
        example.theirs("as 0 gives 0", 0, 0);
        example.ours(
                "as 1 gives the mass 1", new double[] {1, Routed.of(sum, logits).mass()}, 1, 1);
        example.ours(
                "as 2.5 gives 2.5",
                new double[] {2.5, Routed.of(sum.withScale(2.5), logits).mass()},
                2.5,
                2.5);
    }
}
