package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankPass.BankGradients;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;

/** Banks against one expert at a time on plain arrays, forward and backward. */
public abstract class BankContract extends ElementContract {
    /** A bank with tokens, rows and a gradient, and the same numbers as arrays. */
    protected final class BankCase {
        final int hiddenSize;
        final int intermediateSize;
        final RowGroups groups;
        final int[] rows;
        final Matrix tokens;
        final Matrix dOutput;
        final List<Matrix> gate = new ArrayList<>();
        final List<Matrix> up = new ArrayList<>();
        final List<Matrix> down = new ArrayList<>();

        BankCase(Cases cases, int hiddenSize, int intermediateSize, RowGroups groups, int tokenCount) {
            this.hiddenSize = hiddenSize;
            this.intermediateSize = intermediateSize;
            this.groups = groups;
            rows = cases.indices(groups.rows(), Math.max(1, tokenCount));
            tokens = cases.matrix(backend(), tokenCount, hiddenSize);
            dOutput = cases.matrix(backend(), groups.rows(), hiddenSize);
            for (int e = 0; e < groups.count(); e++) {
                gate.add(cases.matrix(backend(), intermediateSize, hiddenSize));
                up.add(cases.matrix(backend(), intermediateSize, hiddenSize));
                down.add(cases.matrix(backend(), hiddenSize, intermediateSize));
            }
        }

        Bank bank() {
            return backend().prepare(gate, up, down);
        }

        BankPass forward() {
            return bank().forward(tokens, rows, groups);
        }

        TokenwiseExperts.Expert expert(int e) {
            return new TokenwiseExperts.Expert(rowsOf(gate.get(e)), rowsOf(up.get(e)), rowsOf(down.get(e)));
        }

        double tolerance() {
            return Tolerance.layer(hiddenSize, intermediateSize, backend().unitRoundoff());
        }
    }

    static double[][] rowsOf(Matrix a) {
        return TokenwiseExperts.rows(a.toArray(), a.rows(), a.columns());
    }

    /** A small case with empty groups, groups of one and groups of many. */
    protected BankCase bankCase(long seed) {
        Cases cases = new Cases(seed);
        int hidden = 1 + cases.size();
        return new BankCase(cases, hidden, 1 + cases.size(), cases.allSizes(), 1 + cases.size());
    }

    @ParameterizedTest(name = REPLAY)
    @MethodSource(SEEDS)
    void outputIsThatOfOneExpertPerRow(long seed) {
        BankCase c = bankCase(seed);
        assertForward(c);
    }

    /** Forward and apply against the definition. */
    protected void assertForward(BankCase c) {
        double[] expected = new double[c.groups.rows() * c.hiddenSize];
        double[][] tokens = rowsOf(c.tokens);
        for (int e = 0; e < c.groups.count(); e++) {
            TokenwiseExperts.Expert expert = c.expert(e);
            for (int i = c.groups.from(e); i < c.groups.to(e); i++) {
                double[] y = TokenwiseExperts.expert(tokens[c.rows[i]], expert);
                System.arraycopy(y, 0, expected, i * c.hiddenSize, c.hiddenSize);
            }
        }
        try (Bank bank = c.bank();
                BankPass pass = bank.forward(c.tokens, c.rows, c.groups);
                Matrix applied = bank.apply(c.tokens, c.rows, c.groups)) {
            Tolerance.assertWithinMaxNorm("forward", pass.output().toArray(), expected, c.tolerance());
            Tolerance.assertWithinMaxNorm("apply", applied.toArray(), expected, c.tolerance());
        }
    }

    @ParameterizedTest(name = REPLAY)
    @MethodSource(SEEDS)
    void gradientsAreThoseOfOneExpertPerRow(long seed) {
        assertBackward(bankCase(seed));
    }

    /** Backward against the definition, and twice the same. */
    protected void assertBackward(BankCase c) {
        PlainGradients expected = new PlainGradients(c.hiddenSize, c.intermediateSize);
        double[][] tokens = rowsOf(c.tokens);
        double[][] dOutput = rowsOf(c.dOutput);
        try (Bank bank = c.bank();
                BankPass pass = bank.forward(c.tokens, c.rows, c.groups)) {
            BankGradients gradients = pass.backward(c.dOutput);
            for (int e = 0; e < c.groups.count(); e++) {
                int from = c.groups.from(e);
                int to = c.groups.to(e);
                double[][] x =
                        Arrays.stream(c.rows, from, to).mapToObj(t -> tokens[t]).toArray(double[][]::new);
                expected.run(c.expert(e), x, Arrays.copyOfRange(dOutput, from, to));
                double[] input = gradients.input().toArray();
                double[] part = Arrays.copyOfRange(input, from * c.hiddenSize, to * c.hiddenSize);
                assertGradient("input", part, expected.input, c);
                assertGradient("gate", gradients.gate().get(e).toArray(), expected.gate, c);
                assertGradient("up", gradients.up().get(e).toArray(), expected.up, c);
                assertGradient("down", gradients.down().get(e).toArray(), expected.down, c);
            }
            BankGradients again = pass.backward(c.dOutput);
            assertSameBits(again.input(), gradients.input());
            assertSameBits(again.gate().get(0), gradients.gate().get(0));
            assertSameBits(again.down().get(0), gradients.down().get(0));
        }
    }

    private void assertGradient(String what, double[] actual, double[] expected, BankCase c) {
        // a gradient sums over D or F, and once more over the rows of the group
        double rows = Math.sqrt(Math.max(1, c.groups.rows()));
        Tolerance.assertWithinMaxNorm(what, actual, expected, c.tolerance() * rows);
    }

    @Test
    void noTokensAndNoRowsAreLegal() {
        BankCase c = new BankCase(new Cases(1), 3, 2, RowGroups.ofSizes(0, 0), 0);
        try (Bank bank = c.bank();
                BankPass pass = bank.forward(c.tokens, c.rows, c.groups)) {
            assertThat(pass.output().rows()).isZero();
            assertThat(pass.output().columns()).isEqualTo(3);
            assertThat(bank.apply(c.tokens, c.rows, c.groups).rows()).isZero();
            BankGradients gradients = pass.backward(c.dOutput);
            assertThat(gradients.input().rows()).isZero();
            assertThat(gradients.gate().get(1).toArray()).containsExactly(new double[6]);
            assertThat(gradients.down().get(0).toArray()).containsExactly(new double[6]);
        }
    }

    @Test
    void aBankOutlivesTheMatricesItWasMadeOf() {
        BankCase c = bankCase(2);
        double[] gate = c.gate.get(1).toArray();
        double[] down = c.down.get(1).toArray();
        try (Bank bank = c.bank()) {
            double[] before = bank.apply(c.tokens, c.rows, c.groups).toArray();
            c.gate.forEach(Matrix::close);
            c.up.forEach(Matrix::close);
            c.down.forEach(Matrix::close);
            assertThat(bank.apply(c.tokens, c.rows, c.groups).toArray()).containsExactly(before);
            assertThat(bank.gate(1).toArray()).containsExactly(gate);
            assertThat(bank.up(1).rows()).isEqualTo(c.intermediateSize);
            assertThat(bank.down(1).toArray()).containsExactly(down);
        }
    }

    @Test
    void closedBanksAndPassesRefuse() {
        BankCase c = bankCase(3);
        Bank bank = c.bank();
        BankPass pass = bank.forward(c.tokens, c.rows, c.groups);
        Matrix gradient = pass.backward(c.dOutput).gate().get(0);
        Matrix weights = bank.gate(0);
        Matrix output = pass.output();
        pass.close();
        pass.close();
        assertThatThrownBy(() -> pass.backward(c.dOutput)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(output::toArray).isInstanceOf(IllegalStateException.class);
        assertThat(gradient.toArray()).hasSize(c.hiddenSize * c.intermediateSize);
        bank.close();
        bank.close();
        assertThat(weights.toArray()).containsExactly(c.gate.get(0).toArray());
        assertThatThrownBy(() -> bank.apply(c.tokens, c.rows, c.groups)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> bank.forward(c.tokens, c.rows, c.groups)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> bank.down(0)).isInstanceOf(IllegalStateException.class);
    }
}
