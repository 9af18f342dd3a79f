package org.moe4j.core.backend;

import java.util.Arrays;
import java.util.List;

/** One kind of weights that each expert of a bank has one matrix of. */
public enum BankPart {
    /** Gate projection (F×D), with gated activations only. */
    GATE("gate", false),
    /** Up projection (F×D). */
    UP("up", false),
    /** Down projection (D×F). */
    DOWN("down", false),
    /** Added to the gate projection (1×F). */
    GATE_BIAS("gateBias", true),
    /** Added to the up projection (1×F). */
    UP_BIAS("upBias", true),
    /** Added to the output of the expert (1×D), before any routing weight. */
    DOWN_BIAS("downBias", true);

    private final String key;
    private final boolean bias;

    BankPart(String key, boolean bias) {
        this.key = key;
        this.bias = bias;
    }

    /**
     * Its name among an expert's parameters.
     *
     * @return for example {@code gateBias}
     */
    public String key() {
        return key;
    }

    /**
     * The parts that an expert has.
     *
     * @param activation says whether there is a gate
     * @param biases whether every projection has a bias
     * @return in the order of this enum
     */
    public static List<BankPart> of(Activation activation, boolean biases) {
        return Arrays.stream(values())
                .filter(part -> biases || !part.bias)
                .filter(part -> activation.gated() || (part != GATE && part != GATE_BIAS))
                .toList();
    }

    /**
     * Rows of its matrix.
     *
     * @param hiddenSize D
     * @param intermediateSize F
     * @return rows
     */
    public int rows(int hiddenSize, int intermediateSize) {
        return bias ? 1 : this == DOWN ? hiddenSize : intermediateSize;
    }

    /**
     * Columns of its matrix.
     *
     * @param hiddenSize D
     * @param intermediateSize F
     * @return columns
     */
    public int columns(int hiddenSize, int intermediateSize) {
        return switch (this) {
            case GATE, UP, DOWN_BIAS -> hiddenSize;
            case DOWN, GATE_BIAS, UP_BIAS -> intermediateSize;
        };
    }
}
