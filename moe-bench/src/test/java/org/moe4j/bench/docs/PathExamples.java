package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.TokenJitter;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** The way of a routed token through its expert: latent space, place of the weight, jitter. */
final class PathExamples {
    private static final Backend BACKEND = ReferenceBackend.instance();

    private PathExamples() {}

    static Map<String, Consumer<Example>> all() {
        return Map.of(
                "Where the weight is applied", PathExamples::whereTheWeightIsApplied,
                "Experts in a latent space", PathExamples::latent,
                "Jitter of the layer's tokens", PathExamples::jitter);
    }

    /** One expert of one unit, silu(z)·z, for every token; the router's weight is its scale. */
    private static MoeLayer layer(int width, double scale, double[] down, double[] up) {
        RouterConfig config = RouterConfig.topK(1, 1)
                .withRenormalization(new Renormalization.Sum())
                .withScale(scale);
        SwiGluExperts expert = SwiGluExperts.of(List.of(new SwiGluWeights(single(1), single(1), single(1))));
        TopKRouter router = TopKRouter.of(config, BACKEND.buffer(1, width));
        return down.length == 0
                ? MoeLayer.of(router, expert)
                : MoeLayer.of(
                        router,
                        expert,
                        LatentProjections.of(BACKEND.matrix(1, width, down), BACKEND.matrix(width, 1, up)));
    }

    private static Matrix single(double value) {
        return BACKEND.matrix(1, 1, new double[] {value});
    }

    private static void whereTheWeightIsApplied(Example example) {
        double x = example.givenOne("x = 1");
        double weight = example.givenOne("weight 0.5");
        MoeLayer output = layer(1, weight, new double[0], new double[0]);
        double unweighted =
                layer(1, 1, new double[0], new double[0]).apply(single(x)).get(0, 0);
        double sigmoid = Plain.sigmoid(1);
        example.ours(
                "0.5·0.7311 = 0.3655",
                new double[] {weight, unweighted, output.apply(single(x)).get(0, 0)},
                0.5,
                sigmoid,
                0.5 * sigmoid);
        double scaled = weight * x;
        MoeLayer input = output.withWeightPlace(WeightPlace.INPUT);
        example.ours(
                "silu(0.5)·0.5 = 0.1556",
                new double[] {scaled, scaled, input.apply(single(x)).get(0, 0)},
                0.5,
                0.5,
                Plain.silu(scaled) * scaled);
    }

    private static void latent(Example example) {
        double[] sizes = example.given("D = 2 and L = 1");
        double[] down = example.given("down (1, 1)");
        double[] up = example.given("up (2, 3)");
        double[] x = example.given("token (0.5, 0.5)");
        double weight = example.givenOne("weight 2");
        double z = down[0] * x[0] + down[1] * x[1];
        double unit = Plain.silu(z) * z;
        example.theirs("latent token is 1", z);
        example.theirs("gives 0.7311", unit);
        example.theirs("sum is 1.4621", weight * unit);
        MoeLayer layer = layer((int) sizes[0], weight, down, up);
        example.ours(
                "(2.9242, 4.3864)",
                layer.apply(BACKEND.matrix(1, 2, x)).toArray(),
                up[0] * weight * unit,
                up[1] * weight * unit);
        example.theirs("Nemotron 3", 3);
        double[] wide = example.given("D = 4096, F = 2688 and L = 1024");
        example.theirs("5,505,024", 2 * wide[1] * wide[2]);
        example.theirs("22,020,096", 2 * wide[1] * wide[0]);
    }

    private static void jitter(Example example) {
        double epsilon = example.givenOne("ε = 0.1");
        double x = example.givenOne("token 2");
        double factor = example.givenOne("factor 1.05");
        DispatchPlan plan = DispatchPlan.of(
                Routing.of(1, 1, new int[1], new double[] {example.givenOne("weight 1")}), Capacity.dropless());
        Matrix jittered = BACKEND.multiply(single(x), single(factor));
        example.ours("is 2.1", plan.combine(jittered).get(0, 0), 2 * 1.05);
        example.ours(
                "gradient 1.05", BACKEND.multiply(single(1), single(factor)).get(0, 0), 1.05);
        example.ours("the output is 2.", plan.combine(single(x)).get(0, 0), 2);
        double[] drawn =
                new TokenJitter(epsilon).factors(BACKEND, 1000, 1000, 1).toArray();
        double mean = Plain.sum(drawn) / drawn.length;
        double variance = Plain.sum(Plain.map(u -> (u - mean) * (u - mean), drawn)) / drawn.length;
        assertThat(mean).isCloseTo(1, within(5 * Math.sqrt(epsilon * epsilon / 3 / drawn.length)));
        assertThat(variance).isCloseTo(epsilon * epsilon / 3, within(5 * epsilon * epsilon / Math.sqrt(drawn.length)));
        example.theirs("mean 1", 1);
        example.theirs("0.0577", epsilon / Math.sqrt(3));
    }
}
