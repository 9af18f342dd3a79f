package org.moe4j.core.backend;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.vector.VectorBackend;

/** What a pass of a bank keeps of tokens in a buffer, with experts of one number each. */
final class ChangedBufferTest {
    static Stream<Backend> backends() {
        return Stream.of(
                ReferenceBackend.instance(),
                VectorBackend.float32(),
                VectorBackend.float64(),
                Nd4jBackend.float32(),
                Nd4jBackend.float64());
    }

    private static Matrix number(Backend backend, double value) {
        return backend.matrix(1, 1, new double[] {value});
    }

    private static void set(Matrix buffer, double value) {
        try (Matrix number = number(buffer.backend(), value)) {
            buffer.backend().accumulate(0, buffer, 0, number);
        }
    }

    @ParameterizedTest
    @MethodSource("backends")
    void gradientsAreThoseOfTheTokensThatWereSeen(Backend backend) {
        BankWeights weights = new BankWeights(
                new Activation.Relu(),
                Map.of(BankPart.UP, List.of(number(backend, 3)), BankPart.DOWN, List.of(number(backend, 1))));
        try (Bank bank = backend.prepare(weights);
                Matrix tokens = backend.buffer(1, 1)) {
            set(tokens, 2);
            try (BankPass pass = bank.forward(tokens, new int[1], RowGroups.single(1));
                    Matrix dOutput = number(backend, 1)) {
                set(tokens, 100);
                try (BankPass.BankGradients gradients = pass.backward(dOutput)) {
                    assertThat(gradients.get(BankPart.UP).get(0).toArray()).containsExactly(2);
                    assertThat(gradients.input().toArray()).containsExactly(3);
                }
            }
        }
    }
}
