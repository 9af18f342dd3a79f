package org.moe4j.core.nd4j;

/** Loops on single-precision arrays, each small enough for the compiler to vectorise. */
final class FloatLoops {
    private FloatLoops() {}

    /** {@code a += b}. */
    static void add(float[] a, float[] b, int count) {
        for (int i = 0; i < count; i++) {
            a[i] += b[i];
        }
    }

    /** {@code a *= b}. */
    static void multiply(float[] a, float[] b, int count) {
        for (int i = 0; i < count; i++) {
            a[i] *= b[i];
        }
    }

    /** {@code a = alpha · a + beta · b}. */
    static void combine(double alpha, float[] a, double beta, float[] b, int count) {
        for (int i = 0; i < count; i++) {
            a[i] = (float) (alpha * a[i] + beta * b[i]);
        }
    }

    /** {@code y += scale · a}. */
    static void addScaled(float scale, float[] a, float[] y, int count) {
        for (int i = 0; i < count; i++) {
            y[i] += scale * a[i];
        }
    }

    /** Sum of products in double, in four chains of a fixed order. */
    static double dot(float[] a, float[] b, int count) {
        double s0 = 0;
        double s1 = 0;
        double s2 = 0;
        double s3 = 0;
        int i = 0;
        for (; i + 4 <= count; i += 4) {
            s0 += (double) a[i] * b[i];
            s1 += (double) a[i + 1] * b[i + 1];
            s2 += (double) a[i + 2] * b[i + 2];
            s3 += (double) a[i + 3] * b[i + 3];
        }
        for (; i < count; i++) {
            s0 += (double) a[i] * b[i];
        }
        return (s0 + s1) + (s2 + s3);
    }

    /** {@code y[c · rows + r] = a[r · columns + c]}. */
    static void transpose(float[] a, int rows, int columns, float[] y) {
        for (int c = 0; c < columns; c++) {
            for (int r = 0; r < rows; r++) {
                y[c * rows + r] = a[r * columns + c];
            }
        }
    }
}
