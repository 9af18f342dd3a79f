package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.nd4j.Nd4jBackend.Precision;
import org.moe4j.core.nd4j.Nd4jBackend.Strategy;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.testing.TokenwiseExperts;
import org.moe4j.core.testing.TokenwiseExperts.Expert;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.core.vector.VectorBackend;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** Whole layers with T, E, K, D and F of 0 to 3 each: computed where there is something to compute, named where not. */
class NothingIsASizeTest {
    private static final int MOST = 3;

    static Stream<Backend> backends() {
        return Stream.of(
                ReferenceBackend.instance(),
                VectorBackend.float32(),
                VectorBackend.float64(),
                Nd4jBackend.of(Precision.FLOAT32, Strategy.HOST),
                Nd4jBackend.of(Precision.FLOAT64, Strategy.HOST),
                Nd4jBackend.of(Precision.FLOAT32, Strategy.DEVICE),
                Nd4jBackend.of(Precision.FLOAT64, Strategy.DEVICE));
    }

    private record Sizes(int tokens, int experts, int topK, int hidden, int width) {
        boolean legal() {
            return experts > 0 && topK > 0 && topK <= experts && hidden > 0 && width > 0;
        }
    }

    @ParameterizedTest
    @MethodSource("backends")
    void everySizeIsComputedOrNamed(Backend backend) {
        int computed = 0;
        int named = 0;
        for (int code = 0; code < 1 << 10; code++) {
            Sizes sizes = new Sizes(code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3, code >> 8);
            if (sizes.legal()) {
                run(backend, sizes);
                computed++;
            } else {
                assertThatThrownBy(() -> layer(backend, sizes).close())
                        .as("%s", sizes)
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageMatching(
                                "(experts|topK|hiddenSize|count|intermediateSize|columns): expected .+ but was .+");
                named++;
            }
        }
        Promise.measured(
                11,
                "layers of sizes 0 to " + MOST + ", " + backend.name(),
                computed + " as defined, " + named + " refused by name, of " + (computed + named));
    }

    private static MoeLayer layer(Backend backend, Sizes sizes) {
        RouterConfig config = RouterConfig.topK(sizes.experts(), sizes.topK());
        return MoeLayer.of(
                TopKRouter.random(config, sizes.hidden(), backend, 1),
                SwiGluExperts.random(new ExpertShape(sizes.experts(), sizes.hidden(), sizes.width()), backend, 2));
    }

    private static void run(Backend backend, Sizes sizes) {
        try (MoeLayer layer = layer(backend, sizes);
                Matrix tokens = Initializer.normal(1).draw(backend, sizes.tokens(), sizes.hidden(), 3);
                MoePass pass = layer.forward(tokens);
                Matrix output = pass.output();
                Matrix applied = layer.apply(tokens);
                Gradients gradients = pass.backward(tokens);
                Parameters parameters = layer.parameters()) {
            double[] expected = defined(pass.routing(), tokens, parameters, sizes);
            double bound = 16 * Tolerance.layer(sizes.hidden(), sizes.width(), backend.unitRoundoff());
            Tolerance.assertWithinMaxNorm("forward of " + sizes, output.toArray(), expected, bound);
            Tolerance.assertWithinMaxNorm("apply of " + sizes, applied.toArray(), expected, bound);
            for (Matrix same : List.of(output, applied, gradients.input())) {
                assertThat(List.of(same.rows(), same.columns())).isEqualTo(List.of(sizes.tokens(), sizes.hidden()));
            }
            assertThat(shapes(gradients.parameters())).isEqualTo(shapes(parameters));
            int[] counts = pass.routing().tokensPerExpert();
            for (int e = 0; e < sizes.experts(); e++) {
                double[] down =
                        gradients.parameters().get("experts." + e + ".down").toArray();
                assertThat(Tolerance.maxNorm(down) > 0)
                        .as("expert %d of %s", e, sizes)
                        .isEqualTo(counts[e] > 0);
            }
        }
    }

    private static Map<String, List<Integer>> shapes(Parameters parameters) {
        Map<String, List<Integer>> shapes = new TreeMap<>();
        for (String name : parameters.names()) {
            shapes.put(
                    name,
                    List.of(parameters.get(name).rows(), parameters.get(name).columns()));
        }
        return shapes;
    }

    /** Softmax over all experts, and each expert of a token by loops. */
    private static double[] defined(Routing routing, Matrix tokens, Parameters parameters, Sizes sizes) {
        Expert[] bank = new Expert[sizes.experts()];
        for (int e = 0; e < bank.length; e++) {
            bank[e] = new Expert(
                    rows(parameters, "experts." + e + ".gate"),
                    rows(parameters, "experts." + e + ".up"),
                    rows(parameters, "experts." + e + ".down"));
        }
        double[][] router = rows(parameters, "router.weight");
        double[][] x = rows(tokens);
        double[] y = new double[sizes.tokens() * sizes.hidden()];
        for (int t = 0; t < x.length; t++) {
            double[] logits = new double[router.length];
            for (int e = 0; e < logits.length; e++) {
                logits[e] = TokenwiseExperts.dot(router[e], x[t]);
            }
            double[] scores = Plain.softmax(logits);
            for (int rank = 0; rank < sizes.topK(); rank++) {
                int expert = routing.expert(t, rank);
                double[] one = TokenwiseExperts.expert(x[t], bank[expert]);
                for (int d = 0; d < one.length; d++) {
                    y[t * one.length + d] += scores[expert] * one[d];
                }
            }
            assertThat(routing.count(t)).isEqualTo(sizes.topK());
        }
        return y;
    }

    private static double[][] rows(Parameters parameters, String name) {
        return rows(parameters.get(name));
    }

    private static double[][] rows(Matrix matrix) {
        return TokenwiseExperts.rows(matrix.toArray(), matrix.rows(), matrix.columns());
    }
}
