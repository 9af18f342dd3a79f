package org.moe4j.bench.limits;

import org.moe4j.core.backend.BankPart;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.parameter.Parameters;

/** One SwiGLU expert as loops in double over its weights. */
public final class PlainExpert {
    private final double[] gate; // F×D
    private final double[] up; // F×D
    private final double[] down; // D×F

    private PlainExpert(Parameters weights) {
        gate = weights.get(BankPart.GATE.key()).toArray();
        up = weights.get(BankPart.UP.key()).toArray();
        down = weights.get(BankPart.DOWN.key()).toArray();
    }

    /**
     * An expert of a bank.
     *
     * @param experts SwiGLU without biases
     * @param index which
     * @return its weights, copied
     */
    public static PlainExpert of(FeedForwardExperts experts, int index) {
        try (Parameters weights = experts.expert(index)) {
            return new PlainExpert(weights);
        }
    }

    /**
     * Adds its output for a token.
     *
     * @param weight multiplies it
     * @param x D numbers
     * @param into D numbers
     */
    public void add(double weight, double[] x, double[] into) {
        double[] hidden = new double[gate.length / x.length];
        for (int i = 0; i < hidden.length; i++) {
            double g = dot(gate, i * x.length, x);
            hidden[i] = g / (1 + Math.exp(-g)) * dot(up, i * x.length, x);
        }
        for (int i = 0; i < into.length; i++) {
            into[i] += weight * dot(down, i * hidden.length, hidden);
        }
    }

    private static double dot(double[] matrix, int from, double[] x) {
        double sum = 0;
        for (int i = 0; i < x.length; i++) {
            sum += matrix[from + i] * x[i];
        }
        return sum;
    }
}
