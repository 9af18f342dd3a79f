package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;

/** Dispatch, experts, and cases at the edge. */
final class LayerExamples {
    private static final Backend BACKEND = ReferenceBackend.instance();

    private LayerExamples() {}

    static Map<String, Consumer<Example>> all() {
        return Map.of(
                "Which projection is which, and how it is stored", LayerExamples::projections,
                "How outputs are added", LayerExamples::added,
                "Cases at the edge", LayerExamples::edge);
    }

    private static void projections(Example example) {
        double[] weights = example.given("gate 1 and up 2");
        example.ours("is 1.4621", unit(1, weights[0], weights[1]), 2 * Plain.sigmoid(1));
        example.ours(
                "silu(2)·1 = 1.7616", new double[] {2, 1, unit(1, weights[1], weights[0])}, 2, 1, 2 * Plain.sigmoid(2));
        double[] w = example.given("W = ((1, 2), (3, 4))");
        double[] x = example.given("x = (1, 1)");
        Matrix token = BACKEND.matrix(1, 2, x);
        Matrix weight = BACKEND.matrix(2, 2, w);
        example.ours("(3, 7)", BACKEND.matmulTransB(token, weight).toArray(), w[0] + w[1], w[2] + w[3]);
        example.theirs("(4, 6)", w[0] + w[2], w[1] + w[3]);
        double[] rows = example.given("rows 1, 2, 3, 4");
        example.theirs("gates 1 and 3", rows[0], rows[2]);
        example.theirs("gates 1 and 2", rows[0], rows[1]);
    }

    /** One SwiGLU unit of the library on one number, with a down projection of 1. */
    private static double unit(double x, double gate, double up) {
        SwiGluWeights weights = new SwiGluWeights(single(gate), single(up), single(1));
        try (SwiGluExperts experts = SwiGluExperts.of(List.of(weights))) {
            return experts.apply(single(x), new int[1], RowGroups.single(1)).toArray()[0];
        }
    }

    private static Matrix single(double value) {
        return BACKEND.matrix(1, 1, new double[] {value});
    }

    private static void added(Example example) {
        double[] outputs = example.given("Contributions 1, 0.003 and 0.003");
        Routing routing = Routing.of(3, 3, new int[] {0, 1, 2}, new double[] {1, 1, 1});
        DispatchPlan plan = DispatchPlan.of(routing, Capacity.dropless());
        example.ours("1.006", plan.combine(BACKEND.matrix(3, 1, outputs)).toArray(), 1.006);
        example.theirs("the sum is 1", halfWidthSum(outputs));
        example.theirs("it is 1.0078", halfWidthSum(outputs[2], outputs[1], outputs[0]));
        double[] large = example.given("70,000 with weight 0.5");
        Routing one = Routing.of(1, 1, new int[1], new double[] {large[1]});
        double share = DispatchPlan.of(one, Capacity.dropless())
                .combine(single(large[0]))
                .toArray()[0];
        example.ours("35,000", share, 35_000);
    }

    private static double halfWidthSum(double... values) {
        double sum = 0;
        for (double value : values) {
            sum = sum == 0 ? Plain.bfloat16(value) : Plain.bfloat16(sum + Plain.bfloat16(value));
        }
        return sum;
    }

    private static void edge(Example example) {
        double[] logits = example.given("Logits (0, −800)");
        RouterConfig config =
                RouterConfig.topK(2, (int) example.givenOne("K = 2")).withRenormalization(new Renormalization.Sum());
        Routed routed = Routed.of(config, logits);
        example.ours("weights 1 and 0", routed.weights(), 1, 0);
        assertThat(routed.counts()).containsExactly(1, 1);
        example.ours("1 row each", routed.counts()[1], 1);
        example.given("weights of 0");
        example.theirs("gets 0 rows", StrictMath.exp(logits[1]) > 0 ? 1 : 0);
    }
}
