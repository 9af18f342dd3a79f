package org.moe4j.bench.layer;

import org.moe4j.bench.layer.LayerCase.Numbers;

/**
 * For each element of a layer's output, how much of a relative error of one in every product may reach it, to first order: the sums of
 * the absolute values of what is added, each times the slope of what follows. For layers of plain SwiGLU experts.
 */
final class LayerGauge {
    private LayerGauge() {}

    static double[] of(LayerCase c) {
        return of(c, true);
    }

    /** Of the sums over hidden units alone: what goes in is taken as exact. */
    static double[] ofDown(LayerCase c) {
        return of(c, false);
    }

    private static double[] of(LayerCase c, boolean all) {
        int d = c.sizes().hidden();
        double[] gauge = new double[c.sizes().tokens() * d];
        double[][] weights = TokenwiseRoutes.of(c).weights();
        double factor = Math.abs(TokenwiseMerge.routedFactor(c));
        for (int t = 0; t < c.sizes().tokens(); t++) {
            double[] x = TokenwiseRoutes.token(c, t);
            double ofWeight = all ? 2 * largest(sizes(c.parameters().get("router.weight"), x)) : 0;
            for (int e = 0; e < weights[t].length; e++) {
                if (weights[t][e] != 0) {
                    add(
                            gauge,
                            t * d,
                            factor * Math.abs(weights[t][e]),
                            expert(c, "experts." + e, x, 1 + ofWeight, all));
                }
            }
            Plain.add(gauge, t * d, factor * Math.abs(TokenwiseRoutes.of(c).passed()[t]), absolute(x));
            double[] shared = TokenwiseMerge.sharedCoefficients(c, t);
            double ofGate = all && c.parameters().containsKey("merge.gate")
                    ? 2 * largest(sizes(c.parameters().get("merge.gate"), x))
                    : 0;
            for (int i = 0; i < shared.length; i++) {
                add(gauge, t * d, Math.abs(shared[i]), expert(c, "shared." + i, x, 1 + ofGate, all));
            }
        }
        return gauge;
    }

    private static void add(double[] gauge, int at, double factor, double[] values) {
        Plain.add(gauge, at, factor, values);
    }

    /** Errors of the units, their sizes, and {@code own} times the size for what multiplies the expert. */
    private static double[] expert(LayerCase c, String name, double[] x, double own, boolean all) {
        Numbers gate = c.parameters().get(name + ".gate");
        Numbers up = c.parameters().get(name + ".up");
        double[] g = Plain.products(gate, x);
        double[] u = Plain.products(up, x);
        double[] sizeOfGate = sizes(gate, x);
        double[] sizeOfUp = sizes(up, x);
        double[] units = new double[g.length];
        for (int f = 0; f < units.length; f++) {
            double s = 1 / (1 + StrictMath.exp(-g[f]));
            double slope = Math.abs(s * (1 + g[f] * (1 - s)));
            double h = Math.abs(g[f] * s * u[f]);
            double before = slope * sizeOfGate[f] * Math.abs(u[f]) + Math.abs(g[f] * s) * sizeOfUp[f];
            units[f] = (all ? before : 0) + own * h;
        }
        return sizes(c.parameters().get(name + ".down"), units);
    }

    /** {@code Σ|a||x|} for each row. */
    static double[] sizes(Numbers matrix, double[] x) {
        return Plain.products(new Numbers(matrix.rows(), matrix.columns(), absolute(matrix.values())), absolute(x));
    }

    private static double[] absolute(double[] values) {
        double[] absolute = new double[values.length];
        for (int i = 0; i < values.length; i++) {
            absolute[i] = Math.abs(values[i]);
        }
        return absolute;
    }

    private static double largest(double[] values) {
        double largest = 0;
        for (double value : values) {
            largest = Math.max(largest, value);
        }
        return largest;
    }
}
