package org.moe4j.bench.peers;

import java.util.List;
import java.util.stream.Stream;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.RouterConfig;

/**
 * Sizes of a layer of SwiGLU experts.
 *
 * @param hiddenSize D, width of tokens
 * @param intermediateSize F, width between the projections
 * @param experts E
 * @param topK K, experts of a token
 */
public record LayerSize(int hiddenSize, int intermediateSize, int experts, int topK) {
    private static final int NUMBERS = 4;
    private static final long MOST_BYTES = 6_000_000_000L;

    /** Of an array, and so of a matrix. */
    private static final int MOST_NUMBERS = Integer.MAX_VALUE - 8;

    /**
     * Checks the sizes.
     *
     * @param hiddenSize D, width of tokens
     * @param intermediateSize F, width between the projections
     * @param experts E
     * @param topK K, experts of a token
     */
    public LayerSize {
        if (hiddenSize < 1 || intermediateSize < 1 || topK < 1 || experts < topK) {
            throw new IllegalArgumentException("size: expected D, F and K of at least 1 and E of at least K but was D "
                    + hiddenSize + ", F " + intermediateSize + ", E " + experts + ", K " + topK);
        }
        long largest = (long) hiddenSize * Math.max(intermediateSize, experts);
        if (largest > MOST_NUMBERS) {
            throw new IllegalArgumentException("size: expected matrices (F×D, E×D) of at most " + MOST_NUMBERS
                    + " numbers but was one of " + largest);
        }
    }

    /**
     * Reads {@code D,F,E,K}, or takes the sizes of a preset's routed experts; their widths are halved until the weights in single
     * precision take at most 6 GB.
     *
     * @param text four numbers or a preset's name
     * @return the sizes
     */
    public static LayerSize parse(String text) {
        return text.contains(",") ? ofNumbers(text) : of(Preset.named(text));
    }

    private static LayerSize ofNumbers(String text) {
        try {
            List<Integer> numbers = Stream.of(text.split(",", -1))
                    .map(part -> Integer.valueOf(part.strip()))
                    .toList();
            if (numbers.size() == NUMBERS) {
                return new LayerSize(numbers.get(0), numbers.get(1), numbers.get(2), numbers.get(3));
            }
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("size: expected D,F,E,K (four whole numbers) but was " + text, e);
        }
        throw new IllegalArgumentException("size: expected D,F,E,K (four whole numbers) but was " + text);
    }

    private static LayerSize of(Preset preset) {
        ExpertShape shape = ExpertShape.routed(preset);
        LayerSize size = new LayerSize(
                shape.hiddenSize(),
                shape.intermediateSize(),
                shape.count(),
                RouterConfig.from(preset).topK());
        while (size.bytes() > MOST_BYTES) {
            size = new LayerSize(size.hiddenSize / 2, size.intermediateSize / 2, size.experts, size.topK);
        }
        return size;
    }

    /**
     * Tokens of a call whose matrices can be had, with all experts chosen.
     *
     * @return the most
     */
    public int mostTokens() {
        return MOST_NUMBERS / Math.max(hiddenSize, experts);
    }

    /** Of all experts in single precision. */
    private long bytes() {
        return 3L * Float.BYTES * hiddenSize * intermediateSize * experts;
    }

    @Override
    public String toString() {
        return "D " + hiddenSize + ", F " + intermediateSize + ", E " + experts + ", K " + topK;
    }
}
