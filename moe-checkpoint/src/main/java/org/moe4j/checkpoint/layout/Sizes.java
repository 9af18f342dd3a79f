package org.moe4j.checkpoint.layout;

/**
 * The sizes that the letters of layouts stand for.
 *
 * @param experts E
 * @param tokenWidth D
 * @param latentSize L, the width of the routed experts' tokens; D where there is no latent space
 * @param intermediateSize F
 * @param sharedWidth S, 0 without a shared expert
 */
public record Sizes(int experts, int tokenWidth, int latentSize, int intermediateSize, int sharedWidth) {
    /**
     * Numbers in the matrix of a part; of one expert, where each expert has one.
     *
     * @param part any
     * @return rows times columns
     */
    public long elements(LayerPart part) {
        return (long) of(part.rows(), part) * of(part.columns(), part);
    }

    /** The name of a letter in the tensors of a part, as in presets. */
    static String name(char letter, LayerPart part) {
        return switch (letter) {
            case 'E' -> "experts";
            case 'D' -> part.whose() == LayerPart.Whose.EXPERT ? "token width of experts" : "hiddenSize";
            case 'L' -> "latentSize";
            case 'F' -> "intermediateSize";
            case 'S' -> "shared width";
            default -> "1";
        };
    }

    /** The size of a letter in the tensors of a part: the D of a routed expert is what it sees. */
    int of(char letter, LayerPart part) {
        return switch (letter) {
            case 'E' -> experts;
            case 'D' -> part.whose() == LayerPart.Whose.EXPERT ? latentSize : tokenWidth;
            case 'L' -> latentSize;
            case 'F' -> intermediateSize;
            case 'S' -> sharedWidth;
            case '1' -> 1;
            default -> throw new IllegalArgumentException("axis: expected one of [E, D, L, F, S, 1] but was " + letter);
        };
    }
}
