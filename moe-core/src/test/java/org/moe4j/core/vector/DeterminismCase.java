package org.moe4j.core.vector;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;

/**
 * A bank of experts and tokens whose rows' bits are known from {@link ScalarExpert}. The sizes fill several panels of any vectors and
 * the last one in part.
 *
 * @param name for messages
 * @param single precision
 * @param kind which numbers the weights are
 * @param activation what stands between the projections
 */
record DeterminismCase(String name, boolean single, Weights kind, Activation activation) {
    static final int EXPERTS = 5;
    static final int HIDDEN = 150;
    static final int WIDTH = 70;
    static final int TOKENS = 64;

    /** What every weight is. */
    enum Weights {
        FULL(0),
        BFLOAT16(16),
        FLOAT16(13);

        private final int zeroBits;

        Weights(int zeroBits) {
            this.zeroBits = zeroBits;
        }

        private double number(SplittableRandom random, boolean single) {
            double value = (2 * random.nextDouble() - 1) / 4;
            if (this == FLOAT16) { // with few digits for small ones: below 2⁻¹⁴ they are subnormal
                return Math.rint(value * 0x1p11) * 0x1p-11;
            }
            return single || this != FULL
                    ? Float.intBitsToFloat(Float.floatToIntBits((float) value) >> zeroBits << zeroBits)
                    : value;
        }

        double[] draw(SplittableRandom random, int count, boolean single) {
            double[] values = new double[count];
            for (int i = 0; i < count; i++) {
                values[i] = number(random, single);
            }
            return values;
        }
    }

    /** Every precision with every storage and activation that has a definition of its own. */
    static List<DeterminismCase> all() {
        List<DeterminismCase> cases = new ArrayList<>();
        for (Activation activation :
                List.of(new Activation.SwiGlu(), new Activation.Relu(), new Activation.ReluSquared())) {
            for (Weights kind : Weights.values()) {
                cases.add(new DeterminismCase("float32 " + kind + " " + activation, true, kind, activation));
            }
            cases.add(new DeterminismCase("float64 " + activation, false, Weights.FULL, activation));
        }
        return cases;
    }

    VectorBackend backend() {
        return single ? VectorBackend.float32() : VectorBackend.float64();
    }

    List<ScalarExpert> experts() {
        SplittableRandom random = new SplittableRandom(7);
        List<ScalarExpert> experts = new ArrayList<>();
        for (int e = 0; e < EXPERTS; e++) {
            double[] gate = kind.draw(random, WIDTH * HIDDEN, single);
            double[] up = kind.draw(random, WIDTH * HIDDEN, single);
            double[] down = kind.draw(random, HIDDEN * WIDTH, single);
            experts.add(new ScalarExpert(single, activation, HIDDEN, WIDTH, gate, up, down));
        }
        return experts;
    }

    /** Rows of tokens, or of gradients. */
    double[] rows(long seed) {
        return Weights.FULL.draw(new SplittableRandom(seed), TOKENS * HIDDEN, single);
    }

    Bank bank(VectorBackend backend, List<ScalarExpert> experts) {
        Map<BankPart, List<Matrix>> parts = new EnumMap<>(BankPart.class);
        for (BankPart part : BankPart.of(activation, false)) {
            List<Matrix> matrices = new ArrayList<>();
            for (ScalarExpert expert : experts) {
                matrices.add(
                        part == BankPart.DOWN
                                ? backend.matrix(HIDDEN, WIDTH, expert.down)
                                : backend.matrix(WIDTH, HIDDEN, part == BankPart.UP ? expert.up : expert.gate));
            }
            parts.put(part, matrices);
        }
        return backend.prepare(new BankWeights(activation, parts));
    }

    /** Output and gradient of a run's rows. */
    static final class Run {
        final double[] output;
        final double[] gradient;

        Run(double[] output, double[] gradient) {
            this.output = output;
            this.gradient = gradient;
        }
    }

    /** Row i of the run is token {@code index[i]}, and so is its gradient. */
    static Run run(VectorBackend backend, Bank bank, Matrix tokens, double[] gradients, int[] index, RowGroups groups) {
        double[] d = new double[index.length * HIDDEN];
        for (int i = 0; i < index.length; i++) {
            System.arraycopy(gradients, index[i] * HIDDEN, d, i * HIDDEN, HIDDEN);
        }
        try (Matrix dOutput = backend.matrix(index.length, HIDDEN, d);
                BankPass pass = bank.forward(tokens, index, groups);
                Matrix dInput = pass.backward(dOutput, Map.of())) {
            return new Run(pass.output().toArray(), dInput.toArray());
        }
    }

    static double[] row(double[] rows, int index) {
        return Arrays.copyOfRange(rows, index * HIDDEN, (index + 1) * HIDDEN);
    }

    /** Numbers of rows for the experts. */
    static Map<String, RowGroups> loads() {
        return Map.of(
                "even", RowGroups.ofSizes(80, 80, 80, 80, 80),
                "skewed", RowGroups.ofSizes(300, 70, 20, 9, 1),
                "one expert", RowGroups.ofSizes(0, 0, 400, 0, 0),
                "empty experts", RowGroups.ofSizes(0, 199, 0, 201, 0),
                "few rows", RowGroups.ofSizes(3, 0, 1, 2, 1));
    }

    /** Tokens for the rows of a load, each several times. */
    static int[] index(RowGroups groups) {
        int[] index = new int[groups.rows()];
        for (int i = 0; i < index.length; i++) {
            index[i] = i * 37 % TOKENS;
        }
        return index;
    }
}
