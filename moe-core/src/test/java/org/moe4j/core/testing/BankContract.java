package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankPass.BankGradients;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.parameter.Parameters;

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
        final BankWeights weights;

        BankCase(Cases cases, int hiddenSize, int intermediateSize, RowGroups groups, int tokenCount) {
            this(cases, hiddenSize, intermediateSize, groups, tokenCount, new Activation.SwiGlu(), false);
        }

        BankCase(
                Cases cases,
                int hiddenSize,
                int intermediateSize,
                RowGroups groups,
                int tokenCount,
                Activation activation,
                boolean biases) {
            this.hiddenSize = hiddenSize;
            this.intermediateSize = intermediateSize;
            this.groups = groups;
            rows = cases.indices(groups.rows(), Math.max(1, tokenCount));
            tokens = cases.matrix(backend(), tokenCount, hiddenSize);
            dOutput = cases.matrix(backend(), groups.rows(), hiddenSize);
            Map<BankPart, List<Matrix>> parts = new EnumMap<>(BankPart.class);
            for (int e = 0; e < groups.count(); e++) {
                BankPart.of(activation, biases)
                        .forEach(part -> parts.computeIfAbsent(part, key -> new ArrayList<>())
                                .add(cases.matrix(
                                        backend(),
                                        part.rows(hiddenSize, intermediateSize),
                                        part.columns(hiddenSize, intermediateSize))));
            }
            weights = new BankWeights(activation, parts);
        }

        Bank bank() {
            return backend().prepare(weights);
        }

        BankPass forward() {
            return bank().forward(tokens, rows, groups);
        }

        TokenwiseFeedForward expert(int e) {
            Map<String, Matrix> own = new LinkedHashMap<>();
            weights.parts().forEach((part, matrices) -> own.put(part.key(), matrices.get(e)));
            return TokenwiseFeedForward.of(weights.activation(), Parameters.of(own));
        }

        PlainGradients gradients(int e) {
            double[][] all = rowsOf(tokens);
            double[][] x = Arrays.stream(rows, groups.from(e), groups.to(e))
                    .mapToObj(t -> all[t])
                    .toArray(double[][]::new);
            return new PlainGradients(expert(e), x, Arrays.copyOfRange(rowsOf(dOutput), groups.from(e), groups.to(e)));
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
            TokenwiseFeedForward expert = c.expert(e);
            for (int i = c.groups.from(e); i < c.groups.to(e); i++) {
                double[] y = expert.output(tokens[c.rows[i]]);
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
        try (Bank bank = c.bank();
                BankPass pass = bank.forward(c.tokens, c.rows, c.groups);
                BankGradients gradients = pass.backward(c.dOutput);
                BankGradients again = pass.backward(c.dOutput)) {
            double[] input = gradients.input().toArray();
            assertThat(gradients.parts().keySet()).isEqualTo(c.weights.parts().keySet());
            for (int e = 0; e < c.groups.count(); e++) {
                PlainGradients expected = c.gradients(e);
                double[] part =
                        Arrays.copyOfRange(input, c.groups.from(e) * c.hiddenSize, c.groups.to(e) * c.hiddenSize);
                assertGradient("input", part, expected.input, c);
                for (BankPart kind : gradients.parts().keySet()) {
                    assertGradient(kind.key(), gradients.get(kind).get(e).toArray(), expected.of(kind), c);
                }
            }
            assertSameBits(again.input(), gradients.input());
            gradients.parts().forEach((part, matrices) -> {
                for (int e = 0; e < matrices.size(); e++) {
                    assertSameBits(again.get(part).get(e), matrices.get(e));
                }
            });
        }
    }

    static Stream<Arguments> kinds() {
        return PlainActivations.ALL.stream()
                .flatMap(activation -> Stream.of(Arguments.of(activation, false), Arguments.of(activation, true)));
    }

    private BankCase kind(Activation activation, boolean biases, long seed) {
        Cases cases = new Cases(seed);
        return new BankCase(cases, 7, 17, cases.allSizes(), 9, activation, biases);
    }

    @ParameterizedTest(name = "{0}, biases {1}")
    @MethodSource("kinds")
    void everyKindOfExpertGivesWhatOneExpertPerRowGives(Activation activation, boolean biases) {
        BankCase c = kind(activation, biases, 21);
        assertForward(c);
        assertBackward(c);
    }

    /** Gate and up of even experts and the rest of odd ones have a buffer with something in it; all else is frozen. */
    @ParameterizedTest(name = "{0}, biases {1}")
    @MethodSource("kinds")
    void gradientsAreAddedToBuffersWhereThereAreAny(Activation activation, boolean biases) {
        BankCase c = kind(activation, biases, 22);
        Map<BankPart, Map<Integer, Matrix>> into = new EnumMap<>(BankPart.class);
        c.weights.parts().forEach((part, matrices) -> {
            for (int e = part.rows(1, 0); e < matrices.size(); e += 2) {
                Matrix like = matrices.get(e);
                Matrix buffer = backend().buffer(like.rows(), like.columns());
                backend().accumulate(0, buffer, 0, like); // the weight itself is as good as any old value
                into.computeIfAbsent(part, key -> new LinkedHashMap<>()).put(e, buffer);
            }
        });
        try (Bank bank = c.bank();
                BankPass pass = bank.forward(c.tokens, c.rows, c.groups);
                BankGradients fresh = pass.backward(c.dOutput);
                Matrix input = pass.backward(c.dOutput, into)) {
            assertSameBits(input, fresh.input());
            into.forEach((part, buffers) -> buffers.forEach((e, buffer) -> {
                double[] old = c.weights.get(part).get(e).toArray();
                double[] gradient = fresh.get(part).get(e).toArray();
                double[] expected = new double[old.length];
                Arrays.setAll(expected, i -> old[i] + gradient[i]);
                assertGradient(part + " of " + e, buffer.toArray(), expected, c);
                if (c.groups.size(e) == 0) {
                    assertThat(buffer.toArray()).containsExactly(old);
                }
            }));
            assertSameBits(pass.backward(c.dOutput, Map.of()), fresh.input());
        }
    }

    @Test
    void buffersThatDoNotFitAreRefusedBeforeAnyWork() {
        BankCase c = bankCase(4);
        try (Bank bank = c.bank();
                BankPass pass = bank.forward(c.tokens, c.rows, c.groups)) {
            Matrix good = backend().buffer(c.hiddenSize, c.intermediateSize);
            Matrix bad = backend().buffer(c.hiddenSize, c.intermediateSize + 1);
            assertThatThrownBy(() -> pass.backward(c.dOutput, Map.of(BankPart.DOWN, Map.of(0, good, 1, bad))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("into.1.down: expected " + c.hiddenSize + " x " + c.intermediateSize);
            assertThatThrownBy(() -> pass.backward(c.dOutput, Map.of(BankPart.DOWN, Map.of(0, good, 1, good))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(".down: expected a buffer of its own but was that of into.");
            assertThat(good.toArray()).containsOnly(0);
            Matrix weight = c.weights.get(BankPart.UP).get(0);
            assertThatThrownBy(() -> pass.backward(c.dOutput, Map.of(BankPart.UP, Map.of(0, weight))))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("into.0.up: expected a matrix made by backend.buffer but was an immutable matrix");
            assertThatThrownBy(() -> pass.backward(c.dOutput, Map.of(BankPart.UP_BIAS, Map.of(0, good))))
                    .isInstanceOf(NoSuchElementException.class)
                    .hasMessage("part: expected one of [GATE, UP, DOWN] but was UP_BIAS");
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
            assertThat(gradients.get(BankPart.GATE).get(1).toArray()).containsExactly(new double[6]);
            assertThat(gradients.get(BankPart.DOWN).get(0).toArray()).containsExactly(new double[6]);
        }
    }

    @Test
    void aBankOutlivesTheMatricesItWasMadeOf() {
        BankCase c = bankCase(2);
        double[] gate = c.weights.get(BankPart.GATE).get(1).toArray();
        double[] down = c.weights.get(BankPart.DOWN).get(1).toArray();
        try (Bank bank = c.bank()) {
            double[] before = bank.apply(c.tokens, c.rows, c.groups).toArray();
            c.weights.close();
            assertThat(bank.apply(c.tokens, c.rows, c.groups).toArray()).containsExactly(before);
            assertThat(bank.weight(BankPart.GATE, 1).toArray()).containsExactly(gate);
            assertThat(bank.weight(BankPart.UP, 1).rows()).isEqualTo(c.intermediateSize);
            assertThat(bank.weight(BankPart.DOWN, 1).toArray()).containsExactly(down);
        }
    }

    @Test
    void closedBanksAndPassesRefuse() {
        BankCase c = bankCase(3);
        Bank bank = c.bank();
        BankPass pass = bank.forward(c.tokens, c.rows, c.groups);
        Matrix gradient = pass.backward(c.dOutput).get(BankPart.GATE).get(0);
        Matrix weights = bank.weight(BankPart.GATE, 0);
        Matrix output = pass.output();
        pass.close();
        pass.close();
        assertThatThrownBy(() -> pass.backward(c.dOutput)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(output::toArray).isInstanceOf(IllegalStateException.class);
        assertThat(gradient.toArray()).hasSize(c.hiddenSize * c.intermediateSize);
        bank.close();
        bank.close();
        assertThat(weights.toArray())
                .containsExactly(c.weights.get(BankPart.GATE).get(0).toArray());
        assertThatThrownBy(() -> bank.apply(c.tokens, c.rows, c.groups)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> bank.forward(c.tokens, c.rows, c.groups)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> bank.weight(BankPart.DOWN, 0)).isInstanceOf(IllegalStateException.class);
    }
}
