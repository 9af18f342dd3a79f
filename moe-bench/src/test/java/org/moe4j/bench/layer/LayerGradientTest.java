package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;

/**
 * Every gradient of a whole layer against central differences of the token-by-token definition: the function
 * differentiated here shares no code with the library, so that values and gradients are tested at once.
 */
class LayerGradientTest {
    private static final int CASES = 240;

    static LongStream seeds() {
        Long replay = Long.getLong("moe.seed");
        return replay == null ? LongStream.range(0, CASES) : LongStream.of(replay);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("seeds")
    void everyGradientAgreesWithCentralDifferences(long seed) {
        LayerCase c = LayerCase.of(seed, new int[1]);
        Map<String, double[]> gradients = gradients(c, ReferenceBackend.instance());
        double norm = FiniteDifferences.norm(gradients.values().toArray(new double[0][]));
        for (Map.Entry<String, double[]> gradient : gradients.entrySet()) {
            Numbers value = number(c, gradient.getKey());
            ToDoubleFunction<double[]> loss = at -> {
                Numbers moved = new Numbers(value.rows(), value.columns(), at);
                return loss(with(c, gradient.getKey(), moved));
            };
            double[] numeric = FiniteDifferences.gradient(loss, value.values());
            assertThat(FiniteDifferences.worst(gradient.getValue(), numeric, norm))
                    .as("%s of %s; replay with -Dmoe.seed=%d", gradient.getKey(), c, seed)
                    .isLessThanOrEqualTo(1);
        }
    }

    /** The cases are what they are meant to be: the draw leaves none of the required kinds out. */
    @Test
    void casesCoverWhatTheyShould() {
        Map<String, Integer> seen = new HashMap<>();
        int[] excluded = new int[1];
        for (long seed = 0; seed < CASES; seed++) {
            LayerCase c = LayerCase.of(seed, excluded);
            LayerCase.Sizes s = c.sizes();
            boolean idle = false;
            for (int e = 0; e < s.experts() && s.tokens() > 0; e++) {
                int expert = e;
                double[][] r = TokenwiseLayer.routedCoefficients(c);
                idle |= Arrays.stream(r).allMatch(row -> row[expert] == 0);
            }
            count(seen, "T=0", s.tokens() == 0);
            count(seen, "T=1", s.tokens() == 1);
            count(seen, "K=1", s.topK() == 1);
            count(seen, "K=E", s.topK() == s.experts() && s.experts() > 1);
            count(seen, "expert without tokens", idle);
            count(seen, "D not a multiple of 8", s.hidden() % 8 != 0);
            count(seen, "F not a multiple of 8", s.width() % 8 != 0);
            count(seen, "renormalised", c.renormalize());
            count(seen, "not renormalised", !c.renormalize());
            count(seen, "capacity", c.capacity().isPresent());
            count(seen, "without shared expert", c.sharedWidths().isEmpty());
            count(seen, "several shared experts", c.sharedWidths().size() > 1);
            count(seen, c.merge(), true);
        }
        assertThat(seen)
                .hasSize(20)
                .allSatisfy((kind, number) -> assertThat(number).as(kind).isGreaterThanOrEqualTo(5));
        assertThat(excluded[0]).as("draws refused for being near a tie").isLessThan(CASES);
    }

    private static void count(Map<String, Integer> seen, String kind, boolean holds) {
        seen.merge(kind, holds ? 1 : 0, Integer::sum);
    }

    /** All gradients of a case on a backend: {@code tokens} and the parameters by name. */
    static Map<String, double[]> gradients(LayerCase c, Backend backend) {
        Map<String, double[]> arrays = new HashMap<>();
        try (MoeLayer layer = c.on(backend);
                MoePass pass = layer.forward(c.tokens().on(backend));
                Gradients gradients = pass.backward(c.dOutput().on(backend))) {
            pass.output().close();
            arrays.put("tokens", gradients.input().toArray());
            gradients
                    .parameters()
                    .names()
                    .forEach(name ->
                            arrays.put(name, gradients.parameters().get(name).toArray()));
        }
        assertThat(arrays.keySet())
                .containsAll(c.parameters().keySet())
                .hasSize(c.parameters().size() + 1);
        return arrays;
    }

    private static double loss(LayerCase c) {
        double[] output = TokenwiseLayer.output(c);
        double sum = 0;
        for (int i = 0; i < output.length; i++) {
            sum += output[i] * c.dOutput().values()[i];
        }
        return sum;
    }

    private static Numbers number(LayerCase c, String name) {
        return name.equals("tokens") ? c.tokens() : c.parameters().get(name);
    }

    private static LayerCase with(LayerCase c, String name, Numbers moved) {
        Map<String, Numbers> parameters = new HashMap<>(c.parameters());
        if (!name.equals("tokens")) {
            parameters.put(name, moved);
        }
        return new LayerCase(
                c.seed(),
                c.sizes(),
                c.renormalize(),
                c.routerScale(),
                c.merge(),
                c.sharedWidths(),
                c.capacity(),
                parameters,
                name.equals("tokens") ? moved : c.tokens(),
                c.dOutput());
    }
}
