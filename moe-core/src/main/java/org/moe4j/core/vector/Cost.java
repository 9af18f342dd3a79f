package org.moe4j.core.vector;

/** Rough nanoseconds on one thread; they decide who works on what, never what comes out. */
final class Cost {
    private static final long TERMS_PER_NANO = 50;
    private static final long NUMBERS_PER_NANO = 4;

    /** Rows whose arithmetic takes as long as reading the weights does. */
    private static final int ROWS_OF_READING = 7;

    private Cost() {}

    static long product(long rows, long inner, long outputs) {
        return rows * inner * outputs / TERMS_PER_NANO + 1;
    }

    /** Rows that go through weights of so many numbers. */
    static long expert(long rows, long weights) {
        return (rows + ROWS_OF_READING) * weights / TERMS_PER_NANO;
    }

    static long numbers(long count) {
        return count / NUMBERS_PER_NANO;
    }
}
