package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;

/** Every backend against the token-by-token definition and, for gradients, against the reference. */
class LayerParityTest {
    private static final int CASES = 40;

    static Stream<Arguments> backendsAndSeeds() {
        Stream<Backend> backends = Stream.of(
                ReferenceBackend.instance(),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT64, Nd4jBackend.Strategy.HOST),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT64, Nd4jBackend.Strategy.DEVICE),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.HOST),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.DEVICE));
        return backends.flatMap(
                backend -> LongStream.range(0, CASES).mapToObj(seed -> Arguments.of(backend.name(), backend, seed)));
    }

    /**
     * Design, section 18: a whole layer agrees to {@code 4·√max(D, F)·u} of the maximum norm, in double to 1e-12. Both
     * widths are at least 8: below, the dozen roundings that every element passes outweigh the sums.
     */
    private static double bound(Backend backend, LayerCase c) {
        int longest = Math.max(
                c.sizes().hidden(), Math.max(c.sizes().width(), c.widths().sharedWidth()));
        return backend.unitRoundoff() > 1e-10 ? 4 * Math.sqrt(longest) * backend.unitRoundoff() : 1e-12;
    }

    @ParameterizedTest(name = "{0} seed {2}")
    @MethodSource("backendsAndSeeds")
    void outputAndCoefficientsAreThoseOfTheDefinition(String name, Backend backend, long seed) {
        LayerCase c = LayerCase.of(seed, 8, 40, new int[1]);
        double[] expected = TokenwiseLayer.output(c);
        double allowed = bound(backend, c) * FiniteDifferences.norm(expected);
        try (MoeLayer layer = c.on(backend);
                Matrix tokens = c.tokens().on(backend);
                MoePass pass = layer.forward(tokens);
                Matrix forward = pass.output();
                Matrix apply = layer.apply(tokens)) {
            assertThat(distance(forward.toArray(), expected))
                    .as("forward of %s", c)
                    .isLessThanOrEqualTo(allowed);
            assertThat(distance(apply.toArray(), expected)).as("apply of %s", c).isLessThanOrEqualTo(allowed);
            double[][] r = TokenwiseLayer.routedCoefficients(c);
            for (int t = 0; t < r.length; t++) {
                double[] actual = new double[c.sizes().experts()];
                for (int rank = 0; rank < c.sizes().topK(); rank++) {
                    actual[pass.routing().expert(t, rank)] = pass.coefficients().routed(t, rank);
                }
                assertThat(distance(actual, r[t]))
                        .isLessThanOrEqualTo(
                                bound(backend, c) * c.routerScale() * c.sizes().topK());
                for (int i = 0; i < c.sharedWidths().size(); i++) {
                    double s = TokenwiseLayer.sharedCoefficient(c, c.tokens().row(t));
                    assertThat(Math.abs(pass.coefficients().shared(t, i) - s)).isLessThanOrEqualTo(bound(backend, c));
                }
            }
        }
    }

    @ParameterizedTest(name = "{0} seed {2}")
    @MethodSource("backendsAndSeeds")
    void gradientsAreThoseOfTheReference(String name, Backend backend, long seed) {
        LayerCase c = LayerCase.of(seed, 8, 40, new int[1]);
        Map<String, double[]> expected = LayerGradientTest.gradients(c, ReferenceBackend.instance());
        Map<String, double[]> actual = LayerGradientTest.gradients(c, backend);
        double norm = FiniteDifferences.norm(expected.values().toArray(new double[0][]));
        for (String gradient : expected.keySet()) {
            // forward and backward one after the other: twice the bound of a layer
            assertThat(distance(actual.get(gradient), expected.get(gradient)))
                    .as("%s of %s", gradient, c)
                    .isLessThanOrEqualTo(2 * bound(backend, c) * norm);
        }
    }

    private static double distance(double[] a, double[] b) {
        assertThat(a).hasSameSizeAs(b);
        double worst = 0;
        for (int i = 0; i < a.length; i++) {
            double error = Math.abs(a[i] - b[i]);
            worst = error <= worst ? worst : error; // a NaN is kept
        }
        return worst;
    }
}
