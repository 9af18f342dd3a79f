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

    /** {@code gate = silu(gate) · up}. */
    static void swiGlu(double[] gate, double[] up, int count) {
        for (int i = 0; i < count; i++) {
            gate[i] = gate[i] * (1 / (1 + Math.exp(-gate[i]))) * up[i];
        }
    }

    /** {@code dGate} takes the place of gate, {@code dUp} that of up. */
    static void swiGluBackward(double[] gate, double[] up, double[] d, int count) {
        for (int i = 0; i < count; i++) {
            double g = gate[i];
            double s = 1 / (1 + Math.exp(-g));
            gate[i] = d[i] * up[i] * s * (1 + g * (1 - s));
            up[i] = d[i] * g * s;
        }
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
