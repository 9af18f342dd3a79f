package org.moe4j.bench.docs;

import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Activation.ClampedSwiGlu;
import org.moe4j.core.backend.Activation.GeluExact;
import org.moe4j.core.backend.Activation.GeluTanh;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.ReluSquared;
import org.moe4j.core.backend.Activation.SwiGlu;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.PlainActivations;

/** What an expert computes. */
final class ExpertExamples {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final ClampedSwiGlu GPT_OSS = new ClampedSwiGlu(1.702, 7, 1);

    private ExpertExamples() {}

    static Map<String, Consumer<Example>> all() {
        return Map.of(
                "What stands between the projections", ExpertExamples::activations,
                "Biases of experts", ExpertExamples::biases);
    }

    private static void activations(Example example) {
        double[] both = example.given("Gate 8 and up −9");
        example.ours("−71.9759", gated(new SwiGlu(), both), both[0] * Plain.sigmoid(both[0]) * both[1]);
        example.ours("−41.9997", gated(GPT_OSS, both), 7 * Plain.sigmoid(1.702 * 7) * (-7 + 1));
        example.given("from 7 and −7 + 1");
        double[] low = example.given("Gate −10 and up 0.5");
        example.ours("−6.087e-7", gated(GPT_OSS, low), -10 * Plain.sigmoid(1.702 * -10) * (0.5 + 1));
        example.theirs("−7.031e-5", -7 * Plain.sigmoid(1.702 * -7) * (0.5 + 1));
        example.ours(
                "takes 3 to 9 with slope 6",
                new double[] {3, plain(new ReluSquared(), 3)[0], slope(new ReluSquared(), 3)},
                3,
                9,
                6);
        example.ours(
                "−3 to 0 with slope 0",
                new double[] {-3, plain(new ReluSquared(), -3)[0], slope(new ReluSquared(), -3)},
                -3,
                0,
                0);
        for (String phrase : List.of("GELU of 2", "of −3")) {
            double up = example.givenOne(phrase);
            boolean positive = up > 0;
            example.ours(
                    positive ? "is 1.9545" : "−0.00405",
                    plain(new GeluExact(), up),
                    up * PlainActivations.normalCdf(up));
            double z = Math.sqrt(2 / Math.PI) * (up + 0.044715 * up * up * up);
            example.ours(
                    positive ? "1.9546" : "−0.00364", plain(new GeluTanh(), up), 0.5 * up * (1 + StrictMath.tanh(z)));
        }
    }

    private static Matrix single(double value) {
        return BACKEND.matrix(1, 1, new double[] {value});
    }

    private static double[] gated(Activation activation, double[] gateAndUp) {
        return BACKEND.activate(activation, Projections.of(single(gateAndUp[0]), single(gateAndUp[1])))
                .toArray();
    }

    private static double[] plain(Activation activation, double up) {
        return BACKEND.activate(activation, Projections.of(single(up))).toArray();
    }

    private static double slope(Activation activation, double up) {
        return BACKEND.activateBackward(activation, Projections.of(single(up)), single(1))
                .up()
                .get(0, 0);
    }

    private static void biases(Example example) {
        double[] given = example.given("up 1 and down 2, x = 5 and weight 0.5");
        double[] biases = example.given("up bias −3 and down bias 0.5");
        double hidden = given[2] * given[0] + biases[0];
        Parameters weights = Parameters.of(Map.of(
                "up", single(given[0]),
                "down", single(given[1]),
                "upBias", single(biases[0]),
                "downBias", single(biases[1])));
        Routing routing = Routing.of(1, 1, new int[1], new double[] {given[3]});
        try (FeedForwardExperts experts = FeedForwardExperts.of(new Relu(), List.of(weights))) {
            Matrix output = experts.apply(single(given[2]), new int[1], RowGroups.single(1));
            example.ours("gives 4.5", output.toArray(), given[1] * hidden + biases[1]);
            example.ours(
                    "contributes 2.25",
                    DispatchPlan.of(routing, Capacity.dropless())
                            .combine(output)
                            .toArray(),
                    given[3] * (given[1] * hidden + biases[1]));
        }
        example.theirs("be 2.5", given[3] * given[1] * hidden + biases[1]);
    }
}
