package org.moe4j.bench.limits;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.internal.SeededRows;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.vector.VectorBackend;

/** A backend in single precision together with weights as it is measured with. */
public enum LayerKind {
    /** {@link VectorBackend}, any weights. */
    VECTOR("vector", Float.BYTES),
    /** {@link VectorBackend}, weights that are bfloat16 numbers, which it keeps in two bytes. */
    VECTOR_BFLOAT16("vector-bf16", Short.BYTES),
    /** {@link Nd4jBackend}, any weights. */
    ND4J("nd4j", Float.BYTES);

    private static final int DROPPED_BITS = 16; // of a float that becomes a bfloat16

    private final String text;
    private final int bytesPerWeight;

    LayerKind(String text, int bytesPerWeight) {
        this.text = text;
        this.bytesPerWeight = bytesPerWeight;
    }

    /**
     * The kind of a name.
     *
     * @param text as {@link #text}
     * @return the kind
     */
    public static LayerKind named(String text) {
        return Arrays.stream(values())
                .filter(kind -> kind.text.equals(text))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("backend: expected one of "
                        + Arrays.stream(values()).map(LayerKind::text).toList() + " but was " + text));
    }

    /**
     * Its name in tables and on command lines.
     *
     * @return for example {@code vector-bf16}
     */
    public String text() {
        return text;
    }

    /**
     * Memory that a weight of an expert takes.
     *
     * @return bytes
     */
    public int bytesPerWeight() {
        return bytesPerWeight;
    }

    /**
     * The backend.
     *
     * @return one that uses all processors
     */
    public Backend backend() {
        return this == ND4J ? Nd4jBackend.float32() : VectorBackend.float32();
    }

    /**
     * Random experts whose projections keep the variance, uniform, as that is drawn fastest.
     *
     * @param shape sizes
     * @param seed the same seed gives the same weights, but for their rounding
     * @return the bank
     */
    public FeedForwardExperts experts(ExpertShape shape, long seed) {
        Backend backend = backend();
        SplittableRandom seeds = new SplittableRandom(seed);
        List<Parameters> experts = new ArrayList<>();
        try (Unfinished drawn = new Unfinished()) { // the bank has handles of its own
            for (int e = 0; e < shape.count(); e++) {
                Map<String, Matrix> weights = new LinkedHashMap<>();
                for (BankPart part : BankPart.of(shape.activation(), shape.biases())) {
                    int rows = part.rows(shape.hiddenSize(), shape.intermediateSize());
                    int columns = part.columns(shape.hiddenSize(), shape.intermediateSize());
                    RowSource source = new Uniform(seeds.nextLong(), Math.sqrt(3.0 / columns), this == VECTOR_BFLOAT16);
                    weights.put(part.key(), drawn.add(backend.matrix(rows, columns, source)));
                }
                experts.add(Parameters.of(weights));
            }
            return FeedForwardExperts.of(shape.activation(), experts);
        }
    }

    /** Numbers within ±bound, row i from a stream of its own. */
    private record Uniform(long seed, double bound, boolean bfloat16) implements RowSource {
        @Override
        public void read(int row, float[] into) {
            SplittableRandom random = SeededRows.stream(seed, row);
            for (int i = 0; i < into.length; i++) {
                into[i] = next(random);
            }
        }

        @Override
        public void read(int row, double[] into) {
            SplittableRandom random = SeededRows.stream(seed, row);
            for (int i = 0; i < into.length; i++) {
                into[i] = next(random);
            }
        }

        private float next(SplittableRandom random) {
            float value = (float) (random.nextInt() * (bound / (1L << 31)));
            if (!bfloat16) {
                return value;
            }
            return Float.intBitsToFloat(Float.floatToRawIntBits(value) >>> DROPPED_BITS << DROPPED_BITS);
        }
    }
}
