package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Activation.Relu;
import org.moe4j.core.backend.Activation.SwiGlu;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.nd4j.Nd4jBackend.Precision;
import org.moe4j.core.nd4j.Nd4jBackend.Strategy;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.testing.Cases;
import org.moe4j.core.testing.PlainActivations;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.merge.rewrite.DownScale;
import org.moe4j.merge.rewrite.Partition;
import org.moe4j.merge.rewrite.SharedExpertCollapse;

/** Collapsed experts in single and in double precision, on every backend that has both. */
class CollapseOnBackendsTest {
    private static final long SHAPES = 1000;

    static Stream<Backend> backends() {
        return Stream.concat(
                LayerChecks.fastBackends().stream(),
                Stream.of(Precision.values()).map(precision -> Nd4jBackend.of(precision, Strategy.DEVICE)));
    }

    static Stream<Backend> singles() {
        return backends().filter(backend -> backend.unitRoundoff() == 0x1p-24);
    }

    /** Shared experts and tokens. */
    private record Drawn(List<FeedForwardExperts> banks, Partition partition, Matrix tokens, Matrix dOutput) {
        static Drawn of(long seed, Backend backend) {
            Cases cases = new Cases(seed);
            Activation activation = PlainActivations.ALL.get((int) (seed % PlainActivations.ALL.size()));
            boolean biases = cases.below(2) == 1;
            int hidden = 1 + cases.below(40);
            List<FeedForwardExperts> banks = new ArrayList<>();
            List<Integer> widths = new ArrayList<>();
            for (int n = 1 + cases.below(4); n > 0; n--) {
                widths.add(1 + cases.below(60));
                ExpertShape shape = new ExpertShape(1, hidden, widths.get(widths.size() - 1), activation, biases);
                banks.add(FeedForwardExperts.random(shape, backend, 10 * seed + n));
            }
            int tokens = 1 + cases.below(9);
            return new Drawn(
                    banks,
                    new Partition(activation, biases, hidden, widths),
                    cases.matrix(backend, tokens, hidden),
                    cases.matrix(backend, tokens, hidden));
        }

        int[] rows() {
            int[] rows = new int[tokens.rows()];
            Arrays.setAll(rows, t -> t);
            return rows;
        }

        double[] output(FeedForwardExperts bank) {
            try (Matrix output = bank.apply(tokens, rows(), RowGroups.single(tokens.rows()))) {
                return output.toArray();
            }
        }

        Parameters gradients(FeedForwardExperts bank) {
            try (ExpertsPass pass = bank.forward(tokens, rows(), RowGroups.single(tokens.rows()))) {
                Gradients gradients = pass.backward(dOutput);
                gradients.input().close();
                return gradients.parameters().under("0");
            }
        }

        void close() {
            banks.forEach(FeedForwardExperts::close);
            tokens.close();
            dOutput.close();
        }
    }

    /** Adds {@code |down_df · h_tf|} over the units of an expert, and {@code |downBias_d|}, in double precision. */
    private static void addTerms(Parameters expert, Partition of, Matrix tokens, double[] terms) {
        int hidden = of.hiddenSize();
        Matrix down = expert.get("down");
        for (int t = 0; t < tokens.rows(); t++) {
            for (int f = 0; f < down.columns(); f++) {
                double gate = of.activation().gated() ? projected(expert, "gate", f, tokens, t) : 0;
                double unit = PlainActivations.value(of.activation(), gate, projected(expert, "up", f, tokens, t));
                for (int d = 0; d < hidden; d++) {
                    terms[t * hidden + d] += Math.abs(down.get(d, f) * unit);
                }
            }
            for (int d = 0; d < hidden && of.biases(); d++) {
                terms[t * hidden + d] += Math.abs(expert.get("downBias").get(0, d));
            }
        }
    }

    private static double projected(Parameters expert, String name, int unit, Matrix tokens, int t) {
        String bias = name + "Bias";
        double sum = expert.names().contains(bias) ? expert.get(bias).get(0, unit) : 0;
        for (int d = 0; d < tokens.columns(); d++) {
            sum += tokens.get(t, d) * expert.get(name).get(unit, d);
        }
        return sum;
    }

    /**
     * The reduction is that of an output over all units of all experts, and their down biases: {@code k = Σ_j m_j}, and n more with
     * biases. It is the only one that the two forms order differently. At most {@code 0.92·√k·u·Σ|terms|} was measured in float32
     * and 0.69 in float64, with what the host's kernels may round differently inside a unit, at the edges of their tiles.
     */
    @ParameterizedTest
    @MethodSource("org.moe4j.bench.layer.LayerChecks#fastBackends")
    void theFunctionIsKeptWithinTheRoundingOfTheSumOverUnits(Backend backend) {
        for (long seed = 0; seed < SHAPES; seed++) {
            Drawn drawn = Drawn.of(seed, backend);
            Partition partition = drawn.partition();
            double[] sum = new double[drawn.tokens().rows() * partition.hiddenSize()];
            double[] terms = new double[sum.length];
            for (FeedForwardExperts bank : drawn.banks()) {
                double[] one = drawn.output(bank);
                Arrays.setAll(sum, i -> sum[i] + one[i]);
                try (Parameters expert = bank.expert(0)) {
                    addTerms(expert, partition, drawn.tokens(), terms);
                }
            }
            int k = partition.wide().intermediateSize()
                    + (partition.biases() ? drawn.banks().size() : 0);
            Arrays.setAll(terms, i -> Tolerance.gemm(k, backend.unitRoundoff(), terms[i]));
            try (FeedForwardExperts wide = SharedExpertCollapse.concatenateBanks(drawn.banks())) {
                Tolerance.assertWithin("seed " + seed, drawn.output(wide), sum, terms);
            }
            drawn.close();
        }
    }

    /** Down biases of all parts have the same gradient to the bit here too, so that nothing is refused. */
    @ParameterizedTest
    @MethodSource("org.moe4j.bench.layer.LayerChecks#fastBackends")
    void gradientsAreSlicesOfOneAnother(Backend backend) {
        for (long seed = 0; seed < SHAPES / 5; seed++) {
            Drawn drawn = Drawn.of(seed, backend);
            int width = drawn.partition().wide().intermediateSize();
            double relative = 2 * Tolerance.layer(drawn.partition().hiddenSize(), width, backend.unitRoundoff());
            List<Parameters> parts =
                    drawn.banks().stream().map(drawn::gradients).toList();
            try (FeedForwardExperts bank = SharedExpertCollapse.concatenateBanks(drawn.banks());
                    Parameters wide = drawn.gradients(bank);
                    Parameters joined = drawn.partition().concatenateGradients(parts)) {
                double norm = 0;
                for (String name : wide.names()) {
                    norm = Math.max(norm, Tolerance.maxNorm(wide.get(name).toArray()));
                }
                for (String name : wide.names()) {
                    double[] expected = wide.get(name).toArray();
                    double[] tolerance = new double[expected.length];
                    Arrays.fill(tolerance, relative * norm);
                    Tolerance.assertWithin(
                            "seed " + seed + " " + name, joined.get(name).toArray(), expected, tolerance);
                }
            }
            parts.forEach(Parameters::close);
            drawn.close();
        }
    }

    /** Single precision at both ends of its range, where anything that computed with it would show. */
    private static Parameters awkward(Backend backend, Activation activation, int hidden, int width) {
        double[] values = {-0.0, Float.MIN_VALUE, (float) .1, -Float.MAX_VALUE, 0, 1 + 0x1p-23, -Float.MIN_NORMAL};
        Map<String, Matrix> weights = new LinkedHashMap<>();
        int next = 0;
        for (BankPart part : BankPart.of(activation, true)) {
            double[] matrix = new double[part.rows(hidden, width) * part.columns(hidden, width)];
            for (int i = 0; i < matrix.length; i++) {
                matrix[i] = values[next++ % values.length];
            }
            weights.put(part.key(), backend.matrix(part.rows(hidden, width), part.columns(hidden, width), matrix));
        }
        return Parameters.of(weights);
    }

    @ParameterizedTest
    @MethodSource("backends")
    void splitAndConcatenateKeepEveryBit(Backend backend) {
        for (Activation activation : List.of(new SwiGlu(), new Relu())) {
            Partition partition = new Partition(activation, true, 24, List.of(7, 1, 11));
            try (Parameters wide = awkward(backend, activation, 24, 19)) {
                List<Parameters> parts = partition.split(wide);
                List<Parameters> gradients = partition.splitGradients(wide);
                try (Parameters again = partition.concatenate(parts);
                        Parameters gradient = partition.concatenateGradients(gradients)) {
                    for (String name : wide.names()) {
                        double[] bits = wide.get(name).toArray();
                        assertThat(again.get(name).toArray()).as(name).isEqualTo(bits);
                        assertThat(gradient.get(name).toArray()).as(name).isEqualTo(bits);
                    }
                }
                parts.forEach(Parameters::close);
                gradients.forEach(Parameters::close);
            }
        }
    }

    private static Parameters down(Backend backend, double... values) {
        return Parameters.of("down", backend.matrix(1, values.length, values));
    }

    @ParameterizedTest
    @MethodSource("singles")
    void coefficientsAreAbsorbedInSinglePrecision(Backend backend) {
        DownScale tenth = new DownScale(.1);
        float third = 1 / 3f;
        assertThat(tenth.absorb(down(backend, third)).get("down").toArray()).containsExactly((float) (.1 * third));
        assertThat(tenth.takeOut(down(backend, third)).get("down").toArray()).containsExactly((float) (third / .1));
        assertThat(new DownScale(0x1p-20).reversible(down(backend, third, -0.0, 0x1p-106)))
                .isTrue();
        assertThat(new DownScale(0x1p-20).reversible(down(backend, 0x1p-130))).isFalse();
        assertThat(new DownScale(4).reversible(down(backend, Float.MAX_VALUE))).isFalse();
    }

    @ParameterizedTest
    @MethodSource("singles")
    void whatOverflowsInSinglePrecisionIsRefused(Backend backend) {
        assertThatThrownBy(() -> new DownScale(-10).absorb(down(backend, 1, 0x1p127)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "expert.down: expected numbers that stay finite times -10.0 but was 1.7014118346046923E38 in row 0, column 1");
        Parameters half = Parameters.of("up", backend.matrix(1, 1, new double[1]))
                .and(down(backend, 1))
                .and(Parameters.of("upBias", backend.matrix(1, 1, new double[1])))
                .and(Parameters.of("downBias", backend.matrix(1, 1, new double[] {0x1p127})));
        assertThatThrownBy(() -> new Partition(new Relu(), true, 1, List.of(1, 1)).concatenate(List.of(half, half)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("downBias: expected a finite sum over the experts but was Infinity in column 0");
    }
}
