package org.moe4j.bench.peers;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Random weights and tokens, the same for whoever asks. Every weight is a bfloat16 number, so that all precisions hold the same layer;
 * weights are drawn when they are asked for, since a layer of full size would be a large array.
 */
public final class SampleLayer {
    /** A token is drawn again when its K-th and next logit are closer: summed in another order, they might change places. */
    static final double LEAST_GAP = 1e-3;

    private static final int BFLOAT16_BITS = 0xffff0000;
    private static final int MOST_DRAWS = 10_000;

    private final LayerSize size;
    private final long seed;

    /**
     * A layer.
     *
     * @param size of the layer
     * @param seed the same seed gives the same numbers
     */
    public SampleLayer(LayerSize size, long seed) {
        this.size = size;
        this.seed = seed;
    }

    /** The matrices of an expert. */
    public enum Part {
        /** (F×D). */
        GATE,
        /** (F×D). */
        UP,
        /** (D×F). */
        DOWN
    }

    /**
     * Sizes.
     *
     * @return of the layer
     */
    public LayerSize size() {
        return size;
    }

    /**
     * One matrix of one expert, with a variance of one over its columns.
     *
     * @param part which of them
     * @param expert 0 ≤ expert &lt; E
     * @return row-major, as in checkpoints
     */
    public float[] weights(Part part, int expert) {
        int inner = part == Part.DOWN ? size.intermediateSize() : size.hiddenSize();
        int place =
                switch (part) {
                    case GATE -> 1;
                    case UP -> 2;
                    case DOWN -> 3;
                };
        return draw(3L * expert + place, size.hiddenSize() * size.intermediateSize(), inner);
    }

    /**
     * Weights of the router, with a variance of one over D.
     *
     * @return (E×D), row-major
     */
    public float[] router() {
        return draw(0, size.experts() * size.hiddenSize(), size.hiddenSize());
    }

    private float[] draw(long stream, int count, int inner) {
        float[] values = new float[count];
        fill(new SplittableRandom(mixed(stream)), values, 0, count, Math.sqrt(3.0 / inner));
        return values;
    }

    private long mixed(long stream) {
        return new SplittableRandom(seed).nextLong() + stream * 0x9e3779b97f4a7c15L;
    }

    /** Uniform between −bound and bound, cut to bfloat16. */
    private static void fill(SplittableRandom random, float[] into, int from, int count, double bound) {
        for (int i = from; i < from + count; i++) {
            float value = (float) (bound * (2 * random.nextDouble() - 1));
            into[i] = Float.intBitsToFloat(Float.floatToRawIntBits(value) & BFLOAT16_BITS);
        }
    }

    /**
     * Tokens of unit variance, none of which is near a tie between the last expert it goes to and the next.
     *
     * @param count T
     * @return (T×D), row-major
     */
    public float[] tokens(int count) {
        int d = size.hiddenSize();
        float[] router = router();
        float[] tokens = new float[Math.multiplyExact(count, d)];
        SplittableRandom random = new SplittableRandom(mixed(-1));
        for (int token = 0; token < count; token++) {
            int draws = 0;
            do {
                if (draws++ == MOST_DRAWS) {
                    throw new IllegalStateException("tokens: expected a token that is not near a tie in " + MOST_DRAWS
                            + " draws but was none; is D that small?");
                }
                fill(random, tokens, token * d, d, Math.sqrt(3));
            } while (gap(router, tokens, token * d) < LEAST_GAP);
        }
        return tokens;
    }

    /**
     * A gradient of the output, of unit variance.
     *
     * @param count T
     * @return (T×D), row-major
     */
    public float[] outputGradient(int count) {
        float[] gradient = new float[Math.multiplyExact(count, size.hiddenSize())];
        fill(new SplittableRandom(mixed(-2)), gradient, 0, gradient.length, Math.sqrt(3));
        return gradient;
    }

    private double gap(float[] router, float[] tokens, int from) {
        int d = size.hiddenSize();
        int experts = size.experts();
        if (size.topK() == experts) {
            return Double.POSITIVE_INFINITY;
        }
        double[] logits = new double[experts];
        for (int e = 0; e < experts; e++) {
            for (int i = 0; i < d; i++) {
                logits[e] += (double) router[e * d + i] * tokens[from + i];
            }
        }
        Arrays.sort(logits);
        return logits[experts - size.topK()] - logits[experts - size.topK() - 1];
    }
}
