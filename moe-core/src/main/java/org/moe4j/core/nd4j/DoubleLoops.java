package org.moe4j.core.nd4j;

/** Loops on double-precision arrays, each small enough for the compiler to vectorise. */
final class DoubleLoops {
    private DoubleLoops() {}

    /** {@code a += b}. */
    static void add(double[] a, double[] b, int count) {
        for (int i = 0; i < count; i++) {
            a[i] += b[i];
        }
    }

    /** {@code a *= b}. */
    static void multiply(double[] a, double[] b, int count) {
        for (int i = 0; i < count; i++) {
            a[i] *= b[i];
        }
    }

    /** {@code a = alpha · a + beta · b}. */
    static void combine(double alpha, double[] a, double beta, double[] b, int count) {
        for (int i = 0; i < count; i++) {
            a[i] = (alpha * a[i] + beta * b[i]);
        }
    }

    /** {@code y += scale · a}. */
    static void addScaled(double scale, double[] a, double[] y, int count) {
        for (int i = 0; i < count; i++) {
            y[i] += scale * a[i];
        }
    }

    /** Sum of products, in four chains of a fixed order. */
    static double dot(double[] a, double[] b, int count) {
        double s0 = 0;
        double s1 = 0;
        double s2 = 0;
        double s3 = 0;
        int i = 0;
        for (; i + 4 <= count; i += 4) {
            s0 += a[i] * b[i];
            s1 += a[i + 1] * b[i + 1];
            s2 += a[i + 2] * b[i + 2];
            s3 += a[i + 3] * b[i + 3];
        }
        for (; i < count; i++) {
            s0 += a[i] * b[i];
        }
        return (s0 + s1) + (s2 + s3);
    }

    /** {@code y[c · rows + r] = a[r · columns + c]}. */
    static void transpose(double[] a, int rows, int columns, double[] y) {
        for (int c = 0; c < columns; c++) {
            for (int r = 0; r < rows; r++) {
                y[c * rows + r] = a[r * columns + c];
            }
        }
    }
}
