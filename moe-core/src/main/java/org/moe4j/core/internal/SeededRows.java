package org.moe4j.core.internal;

import java.util.SplittableRandom;

/** Random numbers by seed and position: each row of a matrix has a stream of its own. */
public final class SeededRows {
    private SeededRows() {}

    /**
     * The stream of one row: seed and row mixed, so that neighbouring rows have nothing in common.
     *
     * @param seed of the matrix
     * @param row of the matrix
     * @return its stream
     */
    public static SplittableRandom stream(long seed, int row) {
        return new SplittableRandom(new SplittableRandom(seed ^ (row * 0x9E3779B97F4A7C15L)).nextLong());
    }

    /**
     * Uniform in (0, 1), both ends excluded: the midpoints of 2⁵² equal cells.
     *
     * @param random the stream
     * @return the number
     */
    public static double open(SplittableRandom random) {
        return ((random.nextLong() >>> 12) + 0.5) * 0x1p-52;
    }
}
