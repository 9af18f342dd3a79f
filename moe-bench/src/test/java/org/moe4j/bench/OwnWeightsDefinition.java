package org.moe4j.bench;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** The layer of the page's program {@code OwnWeights}, by loops on plain arrays; its gradients by central differences. */
final class OwnWeightsDefinition {
    private static final double STEP = 1e-5;

    /** The numbers that the program gives to the library, under the names of the page's table. */
    final Map<String, double[]> values = new LinkedHashMap<>();

    OwnWeightsDefinition() {
        values.put("tokens", new double[] {1, 2, -1, 3, 2, 0.5});
        values.put("router.weight", new double[] {1, 0.5, -0.25, 1});
        expert("experts.0", new double[] {1, 0.5}, new double[] {0.5, 2}, new double[] {1, -1});
        expert("experts.1", new double[] {-1, 1}, new double[] {1, 0.25}, new double[] {0.5, 2});
        expert("shared.0", new double[] {0.5, 0.5}, new double[] {1, -1}, new double[] {2, 1});
    }

    private void expert(String name, double[] gate, double[] up, double[] down) {
        values.put(name + ".gate", gate);
        values.put(name + ".up", up);
        values.put(name + ".down", down);
    }

    /** y (3×2): the more probable expert times its probability, plus the shared expert. */
    double[] output() {
        double[] y = new double[6];
        for (int t = 0; t < 3; t++) {
            double[] x = Arrays.copyOfRange(values.get("tokens"), 2 * t, 2 * t + 2);
            double[] router = values.get("router.weight");
            double first = router[0] * x[0] + router[1] * x[1];
            double second = router[2] * x[0] + router[3] * x[1];
            double probability = 1 / (1 + Math.exp(-Math.abs(first - second)));
            add(first > second ? "experts.0" : "experts.1", probability, x, y, t);
            add("shared.0", 1, x, y, t);
        }
        return y;
    }

    private void add(String expert, double factor, double[] x, double[] y, int token) {
        double gate = dot(values.get(expert + ".gate"), x);
        double inner = gate / (1 + Math.exp(-gate)) * dot(values.get(expert + ".up"), x);
        for (int d = 0; d < 2; d++) {
            y[2 * token + d] += factor * inner * values.get(expert + ".down")[d];
        }
    }

    private static double dot(double[] a, double[] b) {
        return a[0] * b[0] + a[1] * b[1];
    }

    private double loss() {
        return Arrays.stream(output()).map(v -> v * v / 2).sum();
    }

    /** The gradient of ½·‖y‖² by the tokens or a parameter. */
    double[] gradient(String name) {
        double[] at = values.get(name);
        double[] gradient = new double[at.length];
        for (int i = 0; i < at.length; i++) {
            double was = at[i];
            at[i] = was + STEP;
            double above = loss();
            at[i] = was - STEP;
            gradient[i] = (above - loss()) / (2 * STEP);
            at[i] = was;
        }
        return gradient;
    }
}
