package org.moe4j.core.vector;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;

/** Gradients of rows whose terms are cut among more workers than one machine may have processors. */
class BackwardPiecesTest {
    /** One row through one hidden number, so that each gradient is one product. */
    private static void oneRow(int hiddenSize, int workers) {
        VectorBackend backend = VectorBackend.float32().withWorkers(workers);
        float[] up = new float[hiddenSize];
        float[] x = new float[hiddenSize];
        float[] down = new float[hiddenSize];
        float[] dOutput = new float[hiddenSize];
        for (int d = 0; d < hiddenSize; d++) {
            up[d] = d % 251 - 125;
        }
        x[125] = 1;
        up[125] = 1;
        down[hiddenSize - 1] = 3;
        dOutput[hiddenSize - 1] = 1;
        BankWeights weights = new BankWeights(
                new Activation.Relu(),
                Map.of(
                        BankPart.UP, List.of(backend.matrix(1, hiddenSize, up)),
                        BankPart.DOWN, List.of(backend.matrix(hiddenSize, 1, down))));
        double[] expected =
                IntStream.range(0, hiddenSize).mapToDouble(d -> 3 * up[d]).toArray();
        try (Bank bank = backend.prepare(weights);
                BankPass pass = bank.forward(backend.matrix(1, hiddenSize, x), new int[1], RowGroups.single(1));
                Matrix gradient = backend.matrix(1, hiddenSize, dOutput);
                BankPass.BankGradients gradients = pass.backward(gradient)) {
            assertThat(gradients.input().toArray())
                    .as("%d columns, %d workers", hiddenSize, workers)
                    .isEqualTo(expected);
        }
    }

    @Test
    void termsAreCutAmongAnyNumberOfWorkers() {
        for (int hiddenSize : List.of(4289, 6144, 7168, 14336)) {
            for (int workers : Arrays.asList(17, 27, 38, 64, 150)) {
                oneRow(hiddenSize, workers);
            }
        }
    }
}
