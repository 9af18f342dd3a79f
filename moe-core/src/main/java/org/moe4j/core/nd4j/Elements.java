package org.moe4j.core.nd4j;

import java.nio.FloatBuffer;
import org.moe4j.core.backend.RowSource;

/**
 * The innermost loops in one precision, on stretches of native memory. A stretch is copied to a small array, worked on
 * there, where the compiler can vectorise, and copied back; both copies stay in the first cache.
 *
 * <p>Every {@code …At} is an index of an element in its block.
 */
interface Elements {
    /** Elements of the small arrays: four of them fit the first cache. */
    int TILE = 2048;

    /** Rows of a transposed stretch that are handled together: whole cache lines on either side. */
    int TRANSPOSE_ROWS = 64;

    /** Bytes of one element. */
    int bytes();

    double unitRoundoff();

    void read(NativeBlock a, long at, double[] into, int from, int count);

    /** In single precision, whatever the precision of the block. */
    void read(NativeBlock a, long at, float[] into, int count);

    void write(NativeBlock y, long at, double[] values, int from, int count);

    void write(NativeBlock y, long at, float[] values, int from, int count);

    void write(NativeBlock y, long at, FloatBuffer values, int from, int count);

    /** Writes rows {@code from … to − 1} of a source. */
    void write(NativeBlock y, RowSource source, int from, int to, int columns);

    void copy(NativeBlock a, long aAt, NativeBlock y, long yAt, int count);

    /** {@code y = factor · a}. */
    void scale(NativeBlock a, long aAt, double factor, NativeBlock y, long yAt, int count);

    /** {@code y = alpha · a + beta · b}; y may be a or b. */
    void combine(
            double alpha,
            NativeBlock a,
            long aAt,
            double beta,
            NativeBlock b,
            long bAt,
            NativeBlock y,
            long yAt,
            int count);

    /** {@code y = a · b}. */
    void multiply(NativeBlock a, long aAt, NativeBlock b, long bAt, NativeBlock y, long yAt, int count);

    /** {@code y = Σ scales_j · a[rows_j]} for {@code from ≤ j < to}, in that order; negative rows add nothing. */
    void sumRows(NativeBlock a, int columns, int[] rows, double[] scales, int from, int to, NativeBlock y, long yAt);

    double dot(NativeBlock a, long aAt, NativeBlock b, long bAt, int count);

    /** {@code y[c · stride + r] = a[r · columns + c]}, from {@code yAt} on. */
    void transpose(NativeBlock a, long aAt, int rows, int columns, NativeBlock y, long yAt, long stride);

    /** Index from {@code at} on of the first element that is not finite, or −1. */
    int firstNonFinite(NativeBlock a, long at, int count);
}
