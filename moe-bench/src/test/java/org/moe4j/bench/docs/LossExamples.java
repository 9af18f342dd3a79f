package org.moe4j.bench.docs;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.TopKPass;
import org.moe4j.router.TopKRouter;
import org.moe4j.router.loss.LoadBalancingLoss;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.VariationLoss;
import org.moe4j.router.loss.ZLoss;

/** The examples of the sections on losses. */
final class LossExamples {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final RouterConfig PAIR = RouterConfig.topK(2, 1);

    private LossExamples() {}

    static Map<String, Consumer<Example>> all() {
        return Map.of(
                "What a balance loss is divided by", LossExamples::divided,
                "Which scores a balance loss takes", LossExamples::scores,
                "Pooled or per layer", LossExamples::pooled,
                "Padding and sequences in a loss", LossExamples::padding,
                "Importance and load", LossExamples::variation,
                "The z-loss", LossExamples::zLoss);
    }

    /** The library's pass of given logits: they are the tokens, and the weight is the identity. */
    private static TopKPass pass(RouterConfig config, RoutingContext context, double[]... logits) {
        int experts = config.experts();
        double[] identity = new double[experts * experts];
        for (int e = 0; e < experts; e++) {
            identity[e * experts + e] = 1;
        }
        double[] all = Arrays.stream(logits).flatMapToDouble(Arrays::stream).toArray();
        return TopKRouter.of(config, BACKEND.matrix(experts, experts, identity))
                .route(BACKEND.matrix(logits.length, experts, all), context);
    }

    private static TopKPass pass(RouterConfig config, double[]... logits) {
        return pass(config, RoutingContext.plain(), logits);
    }

    /** Logits whose softmax is given; of a probability of 0 one far below. */
    private static double[] logits(double... p) {
        return Plain.map(each -> each == 0 ? -800 : Math.log(each), p);
    }

    private static double value(RouterLoss loss, TopKPass... layers) {
        return loss.value(List.of(layers));
    }

    private static double product(double[] f, double[] p) {
        double sum = 0;
        for (int e = 0; e < f.length; e++) {
            sum += f[e] * p[e];
        }
        return sum;
    }

    private static void divided(Example example) {
        double[] a = example.given("Logits (2, 1, 0, −1)");
        double[] b = example.given("(2, 0, 1, −1)");
        double experts = example.givenOne("E = 4");
        int k = (int) example.givenOne("K = 2");
        double[] f = example.given("f = (1, 0.5, 0.5, 0)");
        double[] p = Plain.map(sum -> sum / 2, Plain.plus(Plain.softmax(a), Plain.softmax(b)));
        example.theirs("P = (0.6439, 0.1620, 0.1620, 0.0321)", p);
        TopKPass pass = pass(RouterConfig.topK((int) experts, k), a, b);
        double one = experts / k * product(f, p);
        example.requireEqual(
                new double[] {
                    value(LoadBalancingLoss.olmoCore(1), pass),
                    value(LoadBalancingLoss.megaBlocks(1), pass),
                    value(LoadBalancingLoss.deepSeekBatch(1), pass),
                    value(LoadBalancingLoss.flaxformer(1), pass)
                },
                new double[] {one, one, one, k * one});
        example.ours("1.6119", value(LoadBalancingLoss.megatron(1), pass), one);
        example.ours("3.2237", value(LoadBalancingLoss.transformers(1), pass), k * one);
        example.ours("2.5757", value(LoadBalancingLoss.switchTransformer(1), pass), experts * p[0]);
        double[] often = example.given("p = (0.51, 0.49)");
        double[] seldom = example.given("(0, 1)");
        example.givenOne("K = 1");
        double[] shares = example.given("f = (0.6, 0.4)");
        double[] mean = {0.6 * often[0] + 0.4 * seldom[0], 0.6 * often[1] + 0.4 * seldom[1]};
        example.theirs("P = (0.306, 0.694)", mean);
        TopKPass five = pass(PAIR, logits(often), logits(often), logits(often), logits(seldom), logits(seldom));
        example.ours("0.9224", value(LoadBalancingLoss.switchTransformer(1), five), 2 * product(shares, mean));
        example.theirs("the 1 of balance", 1);
    }

    private static void scores(Example example) {
        double[] logits = example.given("logits (2, 1, 0, −1)");
        double[] sigmoids = Plain.map(Plain::sigmoid, logits);
        double sum = Plain.sum(sigmoids);
        example.theirs("sum 2.3808", sum);
        int k = (int) example.givenOne("K = 2");
        TopKPass pass = pass(RouterConfig.topK(4, k).withScore(new ScoreFunction.Sigmoid()), logits);
        double best = sigmoids[0] + sigmoids[1];
        example.requireEqual(
                new double[] {value(LoadBalancingLoss.deepSeekV3(1), pass)}, new double[] {4.0 / k * best / sum});
        example.ours("1.3540", value(LoadBalancingLoss.olmoCore(1), pass), 4.0 / k * best / sum);
        example.ours("3.2237", value(LoadBalancingLoss.deepSeekBatch(1), pass), 4.0 / k * best);
        double[] softmax = Plain.softmax(logits);
        example.ours("1.7616", value(LoadBalancingLoss.transformers(1), pass) / k, 4.0 / k * (softmax[0] + softmax[1]));
        double[] low = example.given("(−60, −70)");
        example.givenOne("K = 1");
        TopKPass vanishing = pass(PAIR.withScore(new ScoreFunction.Sigmoid()), low);
        double first = Plain.sigmoid(low[0]);
        double both = first + Plain.sigmoid(low[1]);
        example.ours("1.9999", value(LoadBalancingLoss.olmoCore(1), vanishing), 2 * first / both);
        double epsilon = example.givenOne("1e-20");
        example.ours("1.75e-6", value(LoadBalancingLoss.megatron(1), vanishing), 2 * first / (both + epsilon));
        double[] sure = example.given("(8, 7, 0, 0, 0, 0, 0, 0)");
        example.givenOne("K = 2");
        double[] once = Plain.softmax(sure);
        double[] twice = Plain.softmax(once);
        RouterConfig eight = RouterConfig.topK(8, 2);
        example.ours("7.9882", value(LoadBalancingLoss.transformers(1), pass(eight, sure)), 8 * (once[0] + once[1]));
        example.theirs("2.8840", 8 * (twice[0] + twice[1]));
        example.ours("balance is 2", value(LoadBalancingLoss.transformers(1), pass(eight, new double[8])), 2);
    }

    private static void pooled(Example example) {
        example.given("E = 2, K = 1");
        double[] first = example.given("p = (0.9, 0.1)");
        double[] second = example.given("(0.1, 0.9)");
        TopKPass one = pass(PAIR, logits(first), logits(first));
        TopKPass other = pass(PAIR, logits(second), logits(second));
        example.ours("itself: 1.8", value(LoadBalancingLoss.transformers(1), one), 2 * first[0]);
        double[] mean = Plain.map(sum -> sum / 2, Plain.plus(first, second));
        example.ours(
                "Pooled: 1",
                value(LoadBalancingLoss.transformers(1), one, other),
                2 * product(new double[] {.5, .5}, mean));
        example.ours("mean: 1.8", value(LoadBalancingLoss.megaBlocks(1), one, other), first[0] + second[1]);
        example.ours("sum: 3.6", value(LoadBalancingLoss.olmoCore(1), one, other), 2 * (first[0] + second[1]));
    }

    private static void padding(Example example) {
        example.given("E = 2, K = 1");
        double[] first = example.given("p = (0.9, 0.1)");
        double[] second = example.given("(0.1, 0.9)");
        double[][] tokens = {logits(first), logits(second)};
        example.ours("): 1", value(LoadBalancingLoss.megatron(1), pass(PAIR, tokens)), 1);
        double[] padding = logits(example.given("(0.1, 0.9)"));
        RoutingContext masked = new RoutingContext(
                Optional.of(RowMask.of(new boolean[] {true, true, false, false})), List.of(), OptionalLong.empty());
        TopKPass padded = pass(PAIR, masked, tokens[0], tokens[1], padding, padding);
        example.ours("`switch` 1", value(LoadBalancingLoss.switchTransformer(1), padded), 1);
        double length = 2 + 4e-6;
        example.ours("0.999996", value(LoadBalancingLoss.lingvo(1), padded), 4 / (length * length));
        example.ours("0.25", value(LoadBalancingLoss.meshTensorFlow(1), padded), 4 / 16.0);
        TopKPass counted = pass(PAIR, tokens[0], tokens[1], padding, padding);
        double all = 2 * product(new double[] {.25, .75}, new double[] {.3, .7});
        example.ours("tokens, 1.2", value(LoadBalancingLoss.switchTransformer(1), counted), all);
        example.given("(0.9, 0.1)");
        example.given("(0.1, 0.9)");
        RoutingContext two = new RoutingContext(Optional.empty(), List.of(1, 3), OptionalLong.empty());
        TopKPass ragged = pass(PAIR, two, tokens[0], tokens[1], tokens[1], tokens[1]);
        example.requireEqual(
                new double[] {value(LoadBalancingLoss.olmoCoreInstance(1), ragged)}, new double[] {2 * 0.9});
        example.ours("1.8", value(LoadBalancingLoss.deepSeekSequence(1), ragged), 2 * 0.9);
        double each = 2 * 0.9; // c·U of a sequence is its length squared times 0.9
        example.ours("2.25", value(LoadBalancingLoss.megatronSequence(1), ragged), each * (1 + 9) / (2 * 4));
        example.ours("batch 1.2", value(LoadBalancingLoss.olmoCore(1), ragged), all);
    }

    private static void variation(Example example) {
        example.given("E = 2, K = 1");
        double[] first = example.given("p = (0.9, 0.1)");
        double[] second = example.given("(0.1, 0.9)");
        TopKPass pass = pass(PAIR, logits(first), logits(first), logits(first), logits(second));
        double[] weights = {3 * first[0], second[1]};
        example.theirs("(2.7, 0.9)", weights);
        example.ours("CV² 0.25", value(VariationLoss.shazeerImportance(1), pass), cv(weights, 2, 1e-10));
        example.theirs("E − 1 it is 0.5", 1, cv(weights, 1, 1e-10));
        double[] softmax = Plain.plus(Plain.map(p -> 3 * p, first), second);
        example.theirs("(2.8, 1.2)", softmax);
        example.ours("CV² 0.16", value(VariationLoss.vMoeImportance(1), pass), cv(softmax, 2, 0));
        double[] load = {3, 1};
        example.ours("noise: (3, 1)", pass.routing().tokensPerExpert(), 3, 1);
        example.ours("CV² 0.25", value(VariationLoss.shazeerLoad(1), pass), cv(load, 2, 1e-10));
    }

    private static double cv(double[] q, int divisor, double epsilon) {
        double mean = (q[0] + q[1]) / 2;
        double squares = Math.pow(q[0] - mean, 2) + Math.pow(q[1] - mean, 2);
        return squares / divisor / (mean * mean + epsilon);
    }

    private static void zLoss(Example example) {
        double[] first = example.given("Logits (2, 1, 0, −1)");
        double[] second = example.given("(0, 0, 0, 0)");
        double[] lse = {Math.log(Plain.sum(Plain.map(Math::exp, first))), Math.log(second.length)};
        example.theirs("lse 2.4402 and 1.3863", lse);
        TopKPass pass = pass(RouterConfig.topK(4, 2), first, second);
        double sum = lse[0] * lse[0] + lse[1] * lse[1];
        example.ours("3.9382", value(new ZLoss(1), pass), sum / 2);
        double divisor = example.givenOne("with 8 as divisor");
        example.ours("0.9845", value(new ZLoss(1, OptionalDouble.of(divisor)), pass), sum / divisor);
        double[] large = example.given("Logits (1000, 1000)");
        double squared = value(new ZLoss(1), pass(PAIR, large));
        example.ours("lse 1000.6931", Math.sqrt(squared), large[0] + Math.log(2));
    }
}
