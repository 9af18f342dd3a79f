package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.core.testing.Tolerance;

/** What a layer is equal to when its router has no opinion. */
class LayerIdentityTest {
    static Stream<Arguments> backendsAndSeeds() {
        List<Long> seeds = LongStream.range(0, 200)
                .filter(seed -> LayerDraw.merge(seed).convention().equals("olmo"))
                .boxed()
                .toList();
        return LayerChecks.backends().stream()
                .flatMap(backend -> seeds.stream().map(seed -> Arguments.of(backend.name(), backend, seed)));
    }

    /**
     * A router of zeros ties everywhere: it selects experts 0 … K − 1 and gives each 1/K. Under Olmo's merge r = K·(1/K) = 1
     * and s = 1, so that the layer is the dense block whose intermediate units are those of the selected experts and of the
     * shared ones (Equations 82 and 83 of the report on Olmo's MoE recipe).
     */
    @ParameterizedTest(name = "{0} seed {2}")
    @MethodSource("backendsAndSeeds")
    void olmoWithUniformWeightsIsTheDenseBlock(String name, Backend backend, long seed) {
        LayerCase drawn = LayerDraw.ofSwiGlu(seed, 8, 40);
        LayerCase c = withoutOpinion(drawn);
        List<String> blocks = new ArrayList<>();
        IntStream.range(0, c.router().topK()).forEach(e -> blocks.add("experts." + e));
        IntStream.range(0, c.shared().widths().size()).forEach(i -> blocks.add("shared." + i));
        double[] expected = dense(c, blocks);
        double allowed = LayerChecks.bound(backend, c) * FiniteDifferences.norm(expected);
        try (MoeLayer layer = LibraryLayer.of(c, backend);
                Matrix tokens = c.tokens().on(backend);
                MoePass pass = layer.forward(tokens);
                Matrix forward = pass.output();
                Matrix apply = layer.apply(tokens)) {
            for (int t = 0; t < c.sizes().tokens(); t++) {
                for (int rank = 0; rank < c.router().topK(); rank++) {
                    assertThat(pass.routing().expert(t, rank)).isEqualTo(rank);
                }
            }
            assertThat(Tolerance.distance(forward.toArray(), expected))
                    .as("forward of %s", c)
                    .isLessThanOrEqualTo(allowed);
            assertThat(Tolerance.distance(apply.toArray(), expected))
                    .as("apply of %s", c)
                    .isLessThanOrEqualTo(allowed);
        }
    }

    private static LayerCase withoutOpinion(LayerCase c) {
        Numbers weight = c.parameters().get("router.weight");
        LayerCase flat =
                c.bare(c.router().withoutSelectionBias()).with("router.weight", new double[weight.values().length]);
        return c.router().logitBias()
                ? flat.with("router.bias", new double[c.router().experts()])
                : flat;
    }

    /** One SwiGLU block with the units of all the named ones: gate and up below one another, down side by side. */
    private static double[] dense(LayerCase c, List<String> blocks) {
        int d = c.sizes().hidden();
        List<double[]> gate = new ArrayList<>();
        List<double[]> up = new ArrayList<>();
        List<double[]> down = new ArrayList<>();
        for (String block : blocks) {
            Numbers columns = c.parameters().get(block + ".down");
            for (int f = 0; f < columns.columns(); f++) {
                int unit = f;
                gate.add(row(c.parameters().get(block + ".gate"), f));
                up.add(row(c.parameters().get(block + ".up"), f));
                down.add(IntStream.range(0, d)
                        .mapToDouble(i -> columns.values()[i * columns.columns() + unit])
                        .toArray());
            }
        }
        double[] y = new double[c.sizes().tokens() * d];
        for (int t = 0; t < c.sizes().tokens(); t++) {
            double[] x = row(c.tokens(), t);
            for (int f = 0; f < gate.size(); f++) {
                double g = product(gate.get(f), x);
                double hidden = g / (1 + StrictMath.exp(-g)) * product(up.get(f), x);
                for (int i = 0; i < d; i++) {
                    y[t * d + i] += down.get(f)[i] * hidden;
                }
            }
        }
        return y;
    }

    private static double[] row(Numbers matrix, int row) {
        return IntStream.range(0, matrix.columns())
                .mapToDouble(i -> matrix.values()[row * matrix.columns() + i])
                .toArray();
    }

    private static double product(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }
}
