package org.moe4j.core.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.vector.VectorBackend;

/** {@link Bank#applySummed} against sums in plain loops of the rows that {@link Bank#apply} gives. */
final class SummedRunTest {
    private static final int HIDDEN = 37;
    private static final int INTERMEDIATE = 21;
    private static final int TOKENS = 5;
    private static final int[] ROWS = {0, 3, 1, 4, 2, 0, 3};
    private static final RowGroups GROUPS = RowGroups.ofSizes(3, 0, 4);
    private static final int[] SUMS = {0, 5, 2, -1, 4, -1, 1, 6, -1, -1};
    private static final double[] SCALES = {0.25, 0.75, 1.5, 9, -0.3, 9, 0.125, 2, 9, 9};

    static Stream<Backend> backends() {
        return Stream.of(
                ReferenceBackend.instance(),
                VectorBackend.float32(),
                VectorBackend.float32().withWorkers(1),
                VectorBackend.float64(),
                Nd4jBackend.float32());
    }

    private static Matrix drawn(Backend backend, int rows, int columns, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        return backend.matrix(
                rows,
                columns,
                random.doubles((long) rows * columns, -1, 1)
                        .map(value -> (float) value)
                        .toArray());
    }

    private static Bank bank(Backend backend) {
        List<Matrix> gate = new ArrayList<>();
        List<Matrix> up = new ArrayList<>();
        List<Matrix> down = new ArrayList<>();
        for (int e = 0; e < GROUPS.count(); e++) {
            gate.add(drawn(backend, INTERMEDIATE, HIDDEN, 3L * e));
            up.add(drawn(backend, INTERMEDIATE, HIDDEN, 3L * e + 1));
            down.add(drawn(backend, HIDDEN, INTERMEDIATE, 3L * e + 2));
        }
        return backend.prepare(BankWeights.swiGlu(gate, up, down));
    }

    /** In order of the terms; a fused multiply-add or not, within what the precision allows. */
    private static double[] sums(double[] y) {
        double[] sums = new double[TOKENS * HIDDEN];
        for (int slot = 0; slot < SUMS.length; slot++) {
            for (int c = 0; SUMS[slot] >= 0 && c < HIDDEN; c++) {
                sums[slot / 2 * HIDDEN + c] += SCALES[slot] * y[SUMS[slot] * HIDDEN + c];
            }
        }
        return sums;
    }

    @ParameterizedTest
    @MethodSource("backends")
    void sumsOfRowsAreWritten(Backend backend) {
        try (Bank bank = bank(backend);
                Matrix tokens = drawn(backend, TOKENS, HIDDEN, 99);
                Matrix y = bank.apply(tokens, ROWS, GROUPS);
                Matrix unknown = drawn(backend, TOKENS + 2, HIDDEN, 98);
                Matrix output = backend.buffer(TOKENS + 2, HIDDEN)) {
            backend.accumulate(0, output, 0, unknown);
            bank.applySummed(tokens, ROWS, GROUPS, SUMS, SCALES, 2, output, 1);
            double[] expected = sums(y.toArray());
            double largest = Arrays.stream(y.toArray()).map(Math::abs).max().orElseThrow();
            for (int i = 0; i < expected.length; i++) {
                assertThat(output.get(1 + i / HIDDEN, i % HIDDEN))
                        .isCloseTo(expected[i], within(8 * largest * backend.unitRoundoff()));
            }
            for (int c = 0; c < HIDDEN; c++) { // the rows around stay
                assertThat(output.get(0, c)).isEqualTo(unknown.get(0, c));
                assertThat(output.get(TOKENS + 1, c)).isEqualTo(unknown.get(TOKENS + 1, c));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("backends")
    void bitsAreThoseOfTheStepsOneByOne(Backend backend) {
        try (Bank bank = bank(backend);
                Matrix tokens = drawn(backend, TOKENS, HIDDEN, 97);
                Matrix y = bank.apply(tokens, ROWS, GROUPS);
                Matrix summed = backend.sumRows(y, SUMS, SCALES, 2);
                Matrix output = backend.buffer(TOKENS, HIDDEN)) {
            backend.accumulate(0, output, 0, tokens); // the output may be the tokens
            bank.applySummed(output, ROWS, GROUPS, SUMS, SCALES, 2, output, 0);
            assertThat(output.toArray()).containsExactly(summed.toArray());
        }
    }

    @ParameterizedTest
    @MethodSource("backends")
    void whatDoesNotFitIsRefused(Backend backend) {
        try (Bank bank = bank(backend);
                Matrix tokens = drawn(backend, TOKENS, HIDDEN, 97);
                Matrix output = backend.buffer(TOKENS, HIDDEN)) {
            assertThatThrownBy(() -> bank.applySummed(tokens, ROWS, GROUPS, SUMS, SCALES, 2, tokens, 0))
                    .hasMessageStartingWith("buffer: expected a matrix made by backend.buffer");
            assertThatThrownBy(() -> bank.applySummed(tokens, ROWS, GROUPS, SUMS, SCALES, 2, output, 1))
                    .hasMessageStartingWith("fromRow: expected at most 0");
            assertThatThrownBy(() -> bank.applySummed(tokens, ROWS, GROUPS, new int[] {7}, new double[1], 1, output, 0))
                    .hasMessageStartingWith("rows: expected indices -1..6");
            assertThatThrownBy(() -> bank.applySummed(tokens, ROWS, GROUPS, SUMS, new double[1], 2, output, 0))
                    .hasMessageStartingWith("scales: expected 10 factors");
        }
    }
}
