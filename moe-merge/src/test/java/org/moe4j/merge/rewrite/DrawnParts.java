package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Cases;
import org.moe4j.core.testing.PlainActivations;
import org.moe4j.core.testing.TokenwiseFeedForward;

/** Experts of any kind with widths of their own, tokens, and a gradient of their output, all from one seed. */
record DrawnParts(Activation activation, boolean biases, List<Parameters> experts, Matrix tokens, Matrix dOutput) {
    static final Backend BACKEND = ReferenceBackend.instance();

    static DrawnParts of(long seed) {
        Cases cases = new Cases(seed);
        Activation activation = PlainActivations.ALL.get((int) (seed % PlainActivations.ALL.size()));
        boolean biases = cases.below(2) == 1;
        int hidden = 1 + cases.below(12);
        List<Parameters> experts = new ArrayList<>();
        for (int n = 1 + cases.below(5); n > 0; n--) {
            experts.add(expert(activation, biases, hidden, 1 + cases.below(20), cases));
        }
        int tokens = 1 + cases.below(9);
        return new DrawnParts(
                activation,
                biases,
                experts,
                cases.matrix(BACKEND, tokens, hidden),
                cases.matrix(BACKEND, tokens, hidden));
    }

    static Parameters expert(Activation activation, boolean biases, int hidden, int width, Cases cases) {
        Map<String, Matrix> weights = new LinkedHashMap<>();
        for (BankPart part : BankPart.of(activation, biases)) {
            weights.put(part.key(), cases.matrix(BACKEND, part.rows(hidden, width), part.columns(hidden, width)));
        }
        return Parameters.of(weights);
    }

    /** A thousand shapes, a hundred a case; {@code -Dmoe.seed=…} runs the one of that seed alone. */
    static LongStream hundreds() {
        Long asked = Long.getLong("moe.seed");
        return asked == null ? LongStream.range(0, 10) : LongStream.of(asked / 100);
    }

    static List<Long> seeds(long hundred) {
        Long asked = Long.getLong("moe.seed");
        return asked == null
                ? LongStream.range(100 * hundred, 100 * hundred + 100).boxed().toList()
                : List.of(asked);
    }

    Partition partition() {
        return Partition.of(activation, experts);
    }

    double[] output(Parameters expert) {
        try (FeedForwardExperts bank = FeedForwardExperts.of(activation, List.of(expert))) {
            return bank.apply(tokens, allRows(), RowGroups.single(tokens.rows()))
                    .toArray();
        }
    }

    Gradients gradients(Parameters expert) {
        return gradients(expert, dOutput);
    }

    /** Gradients of one expert, whose names have no index. */
    Gradients gradients(Parameters expert, Matrix of) {
        try (FeedForwardExperts bank = FeedForwardExperts.of(activation, List.of(expert));
                ExpertsPass pass = bank.forward(tokens, allRows(), RowGroups.single(tokens.rows()))) {
            Gradients gradients = pass.backward(of);
            return new Gradients(gradients.input(), gradients.parameters().under("0"));
        }
    }

    /** {@code Σ_j c_j · E_j}, token by token on plain arrays. */
    double[] defined(double... coefficients) {
        int hidden = tokens.columns();
        double[] x = tokens.toArray();
        double[] y = new double[x.length];
        for (int j = 0; j < coefficients.length; j++) {
            TokenwiseFeedForward one = TokenwiseFeedForward.of(activation, experts.get(j));
            for (int t = 0; t < x.length; t += hidden) {
                double[] output = one.output(Arrays.copyOfRange(x, t, t + hidden));
                for (int d = 0; d < hidden; d++) {
                    y[t + d] += coefficients[j] * output[d];
                }
            }
        }
        return y;
    }

    private int[] allRows() {
        int[] rows = new int[tokens.rows()];
        Arrays.setAll(rows, t -> t);
        return rows;
    }

    static double[] sum(List<double[]> addends) {
        double[] sum = new double[addends.get(0).length];
        for (double[] addend : addends) {
            Arrays.setAll(sum, i -> sum[i] + addend[i]);
        }
        return sum;
    }

    static void assertSameBits(String what, Parameters actual, Parameters expected) {
        assertThat(actual.names()).as(what).containsExactlyElementsOf(expected.names());
        for (String name : expected.names()) {
            assertSameBits(what + " " + name, actual.get(name), expected.get(name));
        }
    }

    /** AssertJ compares arrays of doubles by their bits, so that −0 is not 0. */
    static void assertSameBits(String what, Matrix actual, Matrix expected) {
        assertThat(actual.rows()).as(what).isEqualTo(expected.rows());
        assertThat(actual.columns()).as(what).isEqualTo(expected.columns());
        assertThat(actual.toArray()).as(what).isEqualTo(expected.toArray());
    }
}
