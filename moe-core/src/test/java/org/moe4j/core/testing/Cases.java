package org.moe4j.core.testing;

import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;

/**
 * Random cases from a seed. A test runs over {@link #seeds}, with the seed in its name, and {@code -Dmoe.seed=…} runs
 * that one alone.
 */
public final class Cases {
    /** Sizes that kernels trip over: nothing, one, around vector widths, and a full block. */
    public static final List<Integer> SIZES = List.of(0, 1, 2, 3, 7, 8, 17, 64);

    private final SplittableRandom random;

    public Cases(long seed) {
        this.random = new SplittableRandom(seed);
    }

    /** For {@code @MethodSource}: a few seeds, or the one that is asked for. */
    public static LongStream seeds() {
        Long asked = Long.getLong("moe.seed");
        return asked == null ? LongStream.rangeClosed(1, 12) : LongStream.of(asked);
    }

    /** Numbers in (−1, 1) with all 53 bits in use: with fewer, products would be exact and prove nothing. */
    public double[] doubles(int count) {
        double[] values = new double[count];
        for (int i = 0; i < count; i++) {
            values[i] = 2 * random.nextDouble() - 1;
        }
        return values;
    }

    /** A matrix of {@link #doubles}, rounded to the backend's precision. */
    public Matrix matrix(Backend backend, int rows, int columns) {
        return backend.matrix(rows, columns, doubles(rows * columns));
    }

    /** An integer in 0 … bound − 1. */
    public int below(int bound) {
        return random.nextInt(bound);
    }

    /** One of {@link #SIZES}. */
    public int size() {
        return SIZES.get(below(SIZES.size()));
    }

    /** Integers in 0 … bound − 1. */
    public int[] indices(int count, int bound) {
        int[] values = new int[count];
        for (int i = 0; i < count; i++) {
            values[i] = below(bound);
        }
        return values;
    }

    /** All of {@link #SIZES} as groups, in random order, so that empty groups are at the ends and between. */
    public RowGroups allSizes() {
        int[] sizes = SIZES.stream().mapToInt(size -> size).toArray();
        for (int i = sizes.length - 1; i > 0; i--) {
            int other = below(i + 1);
            int swapped = sizes[i];
            sizes[i] = sizes[other];
            sizes[other] = swapped;
        }
        return RowGroups.ofSizes(sizes);
    }
}
