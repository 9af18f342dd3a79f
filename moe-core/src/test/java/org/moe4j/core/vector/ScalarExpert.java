package org.moe4j.core.vector;

import org.moe4j.core.backend.Activation;

/**
 * One expert on one row, as scalar loops: what {@link VectorBackend} promises bit for bit. Numbers are doubles that hold what the
 * precision holds; each output of a product is one chain of fused multiply-adds upwards from 0; activations are computed in double and
 * rounded once.
 */
final class ScalarExpert {
    final double[] gate;
    final double[] up;
    final double[] down;
    private final boolean single;
    private final Activation activation;
    private final int hidden;
    private final int width;

    ScalarExpert(
            boolean single, Activation activation, int hidden, int width, double[] gate, double[] up, double[] down) {
        this.single = single;
        this.activation = activation;
        this.hidden = hidden;
        this.width = width;
        this.gate = gate;
        this.up = up;
        this.down = down;
    }

    private double rounded(double value) {
        return single ? (float) value : value;
    }

    private double fma(double a, double b, double c) {
        return single ? Math.fma((float) a, (float) b, (float) c) : Math.fma(a, b, c);
    }

    private boolean gated() {
        return activation.gated();
    }

    /** {@code w · x} with w (rows × x.length). */
    private double[] product(double[] w, double[] x, int rows) {
        double[] y = new double[rows];
        for (int i = 0; i < rows; i++) {
            for (int k = 0; k < x.length; k++) {
                y[i] = fma(x[k], w[i * x.length + k], y[i]);
            }
        }
        return y;
    }

    double[] output(double[] x) {
        double[] u = product(up, x, width);
        double[] g = gated() ? product(gate, x, width) : u;
        double[] h = new double[width];
        for (int i = 0; i < width; i++) {
            h[i] = rounded(hidden(g[i], u[i]));
        }
        return product(down, h, hidden);
    }

    /** Gradient of the row: the chain goes through gates and ups in turn, 16 of each in single precision and 8 in double. */
    double[] inputGradient(double[] x, double[] d) {
        double[] u = product(up, x, width);
        double[] g = gated() ? product(gate, x, width) : u;
        double[] dUp = new double[width];
        double[] dGate = new double[width];
        for (int i = 0; i < width; i++) {
            double dHidden = 0;
            for (int o = 0; o < hidden; o++) {
                dHidden = fma(d[o], down[o * width + i], dHidden);
            }
            dGate[i] = gated() ? rounded(gateSlope(g[i], u[i], dHidden)) : 0;
            dUp[i] = rounded(gated() ? dHidden * g[i] * logistic(g[i]) : plainSlope(u[i], dHidden));
        }
        double[] dX = new double[hidden];
        for (int k = 0; k < hidden; k++) {
            for (int first = 0; first < width; first += single ? 16 : 8) {
                int end = Math.min(width, first + (single ? 16 : 8));
                for (int i = first; gated() && i < end; i++) {
                    dX[k] = fma(dGate[i], gate[i * hidden + k], dX[k]);
                }
                for (int i = first; i < end; i++) {
                    dX[k] = fma(dUp[i], up[i * hidden + k], dX[k]);
                }
            }
        }
        return dX;
    }

    private double hidden(double g, double u) {
        if (activation instanceof Activation.SwiGlu) {
            return g * logistic(g) * u;
        }
        double positive = u > 0 ? u : 0;
        return activation instanceof Activation.ReluSquared ? positive * positive : positive;
    }

    private double gateSlope(double g, double u, double d) {
        double s = logistic(g);
        return d * u * s * (1 + g * (1 - s));
    }

    private double plainSlope(double u, double d) {
        if (activation instanceof Activation.ReluSquared) {
            return d * (2 * (u > 0 ? u : 0));
        }
        return d * (u > 0 ? 1 : 0);
    }

    /** In double as it is defined; for single precision the power series that {@code numerics.md} describes, eleven times squared. */
    private double logistic(double x) {
        if (!single) {
            return 1 / (1 + StrictMath.exp(-x));
        }
        double r = -Math.max(-760, Math.min(760, x)) / 2048;
        double e = 1.0 / 720;
        for (double factorial : new double[] {120, 24, 6, 2, 1, 1}) {
            e = 1 / factorial + r * e;
        }
        for (int i = 0; i < 11; i++) {
            e *= e;
        }
        return 1 / (1 + e);
    }
}
