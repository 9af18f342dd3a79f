package org.moe4j.router.loss;

/** {@code CV²(q) = V/(m² + ε)} of E quantities, in units of the largest of them, so that no square leaves the range of double. */
final class SquaredVariation {
    private static final double SMALLEST = 1e-290; // its inverse is far from the end of double

    private final double[] q;
    private final double unit;
    private final double mean;
    private final double variance;
    private final double below;

    SquaredVariation(double[] quantities, double epsilon) {
        q = quantities.clone();
        double largest = 0;
        for (double each : q) {
            largest = Math.max(largest, Math.abs(each));
        }
        unit = largest;
        for (int e = 0; e < q.length && unit >= SMALLEST; e++) {
            q[e] /= unit;
        }
        double sum = 0;
        for (double each : q) {
            sum += each;
        }
        mean = sum / q.length;
        double squares = 0;
        for (double each : q) {
            squares += (each - mean) * (each - mean);
        }
        variance = squares / q.length;
        below = unit < SMALLEST ? 0 : mean * mean + epsilon / unit / unit;
    }

    /** 0 where no quantity is large enough to divide by. */
    double value() {
        return below == 0 ? 0 : variance / below;
    }

    /** Gradients of a multiple of the value. */
    double[] gradients(double factor) {
        double[] gradients = new double[q.length];
        for (int e = 0; e < q.length && below != 0; e++) {
            double slope = (q[e] - mean) / below - variance / below * (mean / below);
            gradients[e] = factor * 2 / q.length * slope / unit;
        }
        return gradients;
    }
}
