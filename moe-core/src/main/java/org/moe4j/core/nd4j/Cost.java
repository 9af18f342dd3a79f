package org.moe4j.core.nd4j;

/** Rough nanoseconds of a call on one thread; they only decide whether helpers are woken. */
final class Cost {
    private static final long FLOPS_PER_NANO = 64;
    private static final long ELEMENTS_PER_NANO = 4; // weights read from memory

    private Cost() {}

    /** (rows×inner)·(inner×columns), with so many different right operands. */
    static long product(long rows, long columns, long inner, long matrices) {
        long weights = inner * columns * Math.min(matrices, rows);
        return 2 * rows * columns * inner / FLOPS_PER_NANO + weights / ELEMENTS_PER_NANO;
    }

    /** Element-wise work. */
    static long elements(long count) {
        return count;
    }
}
