package org.moe4j.core.expert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.core.testing.TokenwiseExperts;

class SwiGluExpertsTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    /** A random bank with rows for it; some experts get none. */
    @SuppressWarnings("ArrayRecordComponent") // test data
    private record Case(SwiGluExperts experts, Matrix tokens, int[] rows, RowGroups groups, Matrix dOutput) {
        static Case of(long seed) {
            SplittableRandom random = new SplittableRandom(seed);
            ExpertShape shape = new ExpertShape(random.nextInt(1, 5), random.nextInt(1, 10), random.nextInt(1, 10));
            int tokens = random.nextInt(1, 6);
            int[] sizes = new int[shape.count()];
            int n = 0;
            for (int e = 0; e < sizes.length; e++) {
                sizes[e] = random.nextInt(4);
                n += sizes[e];
            }
            int[] rows = new int[n];
            for (int i = 0; i < n; i++) {
                rows[i] = random.nextInt(tokens);
            }
            return new Case(
                    SwiGluExperts.random(shape, BACKEND, seed),
                    Initializer.normal(1).draw(BACKEND, tokens, shape.hiddenSize(), seed + 1),
                    rows,
                    RowGroups.ofSizes(sizes),
                    Initializer.normal(1).draw(BACKEND, n, shape.hiddenSize(), seed + 2));
        }

        double loss(SwiGluExperts bank, Matrix x) {
            double sum = 0;
            for (double dot : BACKEND.rowDots(bank.apply(x, rows, groups), dOutput)) {
                sum += dot;
            }
            return sum;
        }
    }

    static LongStream seeds() {
        return LongStream.range(0, 40);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void equalsOneExpertAtATime(long seed) {
        Case c = Case.of(seed);
        double[][] x = TokenwiseExperts.rows(c.tokens.toArray(), c.tokens.rows(), c.tokens.columns());
        double[] y = c.experts.forward(c.tokens, c.rows, c.groups).output().toArray();
        assertThat(c.experts.apply(c.tokens, c.rows, c.groups).toArray()).isEqualTo(y);
        for (int e = 0; e < c.groups.count(); e++) {
            TokenwiseExperts.Expert expert = plain(c.experts.expert(e));
            for (int i = c.groups.from(e); i < c.groups.to(e); i++) {
                double[] row = TokenwiseExperts.expert(x[c.rows[i]], expert);
                for (int d = 0; d < row.length; d++) {
                    assertThat(y[i * row.length + d]).isCloseTo(row[d], within(1e-13));
                }
            }
        }
    }

    private static TokenwiseExperts.Expert plain(SwiGluWeights weights) {
        return new TokenwiseExperts.Expert(rows(weights.gate()), rows(weights.up()), rows(weights.down()));
    }

    private static double[][] rows(Matrix matrix) {
        return TokenwiseExperts.rows(matrix.toArray(), matrix.rows(), matrix.columns());
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void everyGradientAgreesWithCentralDifferences(long seed) {
        Case c = Case.of(seed);
        Gradients gradients = c.experts.forward(c.tokens, c.rows, c.groups).backward(c.dOutput);
        double norm = 0;
        for (String name : gradients.parameters().names()) {
            norm = Math.max(
                    norm,
                    FiniteDifferences.norm(gradients.parameters().get(name).toArray()));
        }
        Parameters parameters = c.experts.parameters();
        for (String name : parameters.names()) {
            Matrix value = parameters.get(name);
            double[] numeric = FiniteDifferences.gradient(
                    at -> {
                        Matrix moved = BACKEND.matrix(value.rows(), value.columns(), at);
                        return c.loss(
                                c.experts.withParameters(parameters.map((n, v) -> n.equals(name) ? moved : v)),
                                c.tokens);
                    },
                    value.toArray());
            assertThat(FiniteDifferences.worst(gradients.parameters().get(name).toArray(), numeric, norm))
                    .as("%s, seed %d", name, seed)
                    .isLessThanOrEqualTo(1);
        }
        double[] numeric = FiniteDifferences.gradient(
                at -> c.loss(c.experts, BACKEND.matrix(c.tokens.rows(), c.tokens.columns(), at)), c.tokens.toArray());
        double[] input = new double[numeric.length];
        double[] perRow = gradients.input().toArray();
        for (int i = 0; i < perRow.length; i++) {
            input[c.rows[i / c.tokens.columns()] * c.tokens.columns() + i % c.tokens.columns()] += perRow[i];
        }
        assertThat(FiniteDifferences.worst(input, numeric, Math.max(norm, FiniteDifferences.norm(input))))
                .isLessThanOrEqualTo(1);
    }

    @Test
    void anExpertWithoutRowsGetsZeroGradients() {
        SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(2, 3, 4), BACKEND, 1);
        Matrix tokens = Initializer.normal(1).draw(BACKEND, 2, 3, 2);
        Gradients gradients = experts.forward(tokens, new int[] {0, 1}, RowGroups.ofSizes(0, 2))
                .backward(tokens);
        assertThat(gradients.parameters().get("0.gate").toArray()).hasSize(12).containsOnly(0);
        assertThat(gradients.parameters().get("0.down").toArray()).hasSize(12).containsOnly(0);
        assertThat(gradients.parameters().get("1.down").toArray()).doesNotContain(0);
    }

    @Test
    void theSameSeedGivesTheSameWeightsAndKeepsTheVariance() {
        ExpertShape shape = new ExpertShape(2, 64, 32);
        double[] gate = SwiGluExperts.random(shape, BACKEND, 5).expert(1).gate().toArray();
        assertThat(SwiGluExperts.random(shape, BACKEND, 5).expert(1).gate().toArray())
                .isEqualTo(gate);
        double variance = 0;
        for (double w : gate) {
            variance += w * w / gate.length;
        }
        assertThat(variance).isCloseTo(1.0 / 64, within(5.0 / 64 * Math.sqrt(2.0 / gate.length)));
    }

    @Test
    void handlesOutliveTheirBankAndTheBankItsHandles() {
        SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(1, 2, 2), BACKEND, 1);
        Matrix tokens = Initializer.normal(1).draw(BACKEND, 1, 2, 2);
        double[] before =
                experts.apply(tokens, new int[] {0}, RowGroups.single(1)).toArray();
        experts.parameters().close();
        assertThat(experts.apply(tokens, new int[] {0}, RowGroups.single(1)).toArray())
                .isEqualTo(before);
        Matrix gate = experts.expert(0).gate();
        experts.close();
        experts.close();
        assertThat(gate.toArray()).hasSize(4);
        assertThatThrownBy(() -> experts.apply(tokens, new int[] {0}, RowGroups.single(1)))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(experts::parameters).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aPassOutlivesItsBank() {
        SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(1, 2, 2), BACKEND, 1);
        Matrix tokens = Initializer.normal(1).draw(BACKEND, 1, 2, 2);
        ExpertsPass pass = experts.forward(tokens, new int[] {0}, RowGroups.single(1));
        double[] expected = pass.backward(tokens).input().toArray();
        experts.close();
        assertThat(pass.backward(tokens).input().toArray()).isEqualTo(expected);
    }

    @Test
    void aPassIsOverWhenClosed() {
        SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(1, 2, 2), BACKEND, 1);
        Matrix tokens = Initializer.normal(1).draw(BACKEND, 1, 2, 2);
        ExpertsPass pass = experts.forward(tokens, new int[] {0}, RowGroups.single(1));
        pass.close();
        pass.close();
        assertThatThrownBy(() -> pass.backward(tokens)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void shapesAreCheckedAtTheDoor() {
        Matrix wide = BACKEND.buffer(3, 2);
        Matrix tall = BACKEND.buffer(2, 3);
        assertThatThrownBy(() -> SwiGluExperts.of(List.of()))
                .hasMessage("experts: expected at least 1 expert but was an empty list");
        assertThatThrownBy(() -> new SwiGluWeights(wide, tall, tall))
                .hasMessage("up: expected 3 x 2 (shape of gate) but was 2 x 3");
        assertThatThrownBy(() -> new SwiGluWeights(wide, wide, wide))
                .hasMessage("down: expected 2 x 3 (transposed shape of gate) but was 3 x 2");
        assertThatThrownBy(() -> SwiGluExperts.of(
                        List.of(new SwiGluWeights(wide, wide, tall), new SwiGluWeights(tall, tall, wide))))
                .hasMessage("experts[1].gate: expected 3 x 2 (sizes of experts[0].up) but was 2 x 3");
        SwiGluExperts experts = SwiGluExperts.of(List.of(new SwiGluWeights(wide, wide, tall)));
        assertThatThrownBy(() -> experts.apply(tall, new int[0], RowGroups.single(0)))
                .hasMessage("tokens: expected 2 columns (hidden size of the experts) but was 3");
        assertThatThrownBy(() -> experts.apply(wide, new int[0], RowGroups.ofSizes(0, 0)))
                .hasMessage("groups: expected 1 groups (one per expert) but was 2");
        assertThatThrownBy(() -> experts.apply(wide, new int[] {3}, RowGroups.single(1)))
                .hasMessage("rows: expected indices 0..2 (rows of the matrix) but was 3 at position 0");
        assertThatThrownBy(() -> experts.withParameters(Parameters.of("0.gate", wide)))
                .hasMessage("parameters: expected a matrix named 0.up but was a set without it");
        assertThatThrownBy(() -> experts.withParameters(Parameters.of("0.gate", tall)
                        .and(Parameters.of("0.up", tall))
                        .and(Parameters.of("0.down", wide))))
                .hasMessage("0.gate: expected 3 x 2 (shape of the expert it replaces) but was 2 x 3");
    }
}
