package org.moe4j.bench.peers;

import java.util.Locale;
import java.util.Map;
import org.moe4j.bench.peers.SampleLayer.Part;

/** Whether two implementations compute the same; only then are they measured. */
final class Agreement {
    /** Unit roundoff of single precision. */
    private static final double ROUNDOFF = Math.scalb(1.0, -24);

    /** Sums of n numbers in another order differ by about √n roundings, and there are three of them one after the other. */
    private static final double SUMS = 4;

    /** A backward goes once more through as many sums as the forward. */
    private static final double BACKWARD = 4;

    private static final float[] NONE = {};

    private Agreement() {}

    /** Largest difference that may be, for results whose largest number is 1. */
    static double tolerance(LayerSize size) {
        return SUMS * Math.sqrt(Math.max(size.hiddenSize(), size.intermediateSize())) * ROUNDOFF;
    }

    /** Fails where two results differ by more than the tolerance, seen from the largest number. */
    static void require(String name, String otherName, float[] values, float[] other, double tolerance) {
        if (values.length != other.length) {
            throw new IllegalStateException(
                    name + ": expected " + other.length + " numbers (" + otherName + ") but was " + values.length);
        }
        double largest = 0;
        double worst = 0;
        for (int i = 0; i < other.length; i++) {
            largest = Math.max(largest, Math.abs(other[i]));
            worst = Math.max(worst, Math.abs((double) values[i] - other[i]));
        }
        if (!(worst <= tolerance * largest)) {
            throw new IllegalStateException(name + ": expected the result of " + otherName + " (largest " + largest
                    + ") within " + tolerance + " of it but was off by " + worst);
        }
    }

    /**
     * The same for all gradients. The softmax takes the gradients of scores from their mean, which they may be close to; so the tolerance is
     * larger.
     */
    static void require(
            String name,
            Map<Contender.Gradient, float[]> gradients,
            Map<Contender.Gradient, float[]> other,
            double tolerance) {
        for (Contender.Gradient part : Contender.Gradient.values()) {
            require(
                    name + ", gradient of " + part.name().toLowerCase(Locale.ROOT),
                    "ours",
                    gradients.getOrDefault(part, NONE),
                    other.getOrDefault(part, NONE),
                    BACKWARD * tolerance);
        }
    }

    /** The expert with the largest score. */
    static int firstChoice(SampleLayer layer, float[] tokens, int token) {
        return largest(product(layer.router(), token(tokens, token, layer.size().hiddenSize())));
    }

    private static double[] token(float[] tokens, int token, int d) {
        double[] x = new double[d];
        for (int i = 0; i < d; i++) {
            x[i] = tokens[token * d + i];
        }
        return x;
    }

    /** The layer's output for one token, as loops in double precision. */
    static float[] definition(SampleLayer layer, float[] tokens, int token) {
        LayerSize size = layer.size();
        int d = size.hiddenSize();
        double[] x = token(tokens, token, d);
        double[] scores = product(layer.router(), x);
        double sum = 0;
        for (int e = 0; e < scores.length; e++) {
            scores[e] = Math.exp(scores[e]);
            sum += scores[e];
        }
        double[] output = new double[d];
        for (int rank = 0; rank < size.topK(); rank++) {
            int best = largest(scores);
            add(output, scores[best] / sum, expert(layer, best, x));
            scores[best] = -1;
        }
        float[] rounded = new float[d];
        for (int i = 0; i < d; i++) {
            rounded[i] = (float) output[i];
        }
        return rounded;
    }

    private static int largest(double[] values) {
        int best = 0;
        for (int i = 1; i < values.length; i++) {
            best = values[i] > values[best] ? i : best;
        }
        return best;
    }

    private static double[] expert(SampleLayer layer, int expert, double[] x) {
        double[] hidden = product(layer.weights(Part.GATE, expert), x);
        double[] up = product(layer.weights(Part.UP, expert), x);
        for (int i = 0; i < hidden.length; i++) {
            hidden[i] *= up[i] / (1 + Math.exp(-hidden[i]));
        }
        return product(layer.weights(Part.DOWN, expert), hidden);
    }

    private static void add(double[] into, double factor, double[] values) {
        for (int i = 0; i < into.length; i++) {
            into[i] += factor * values[i];
        }
    }

    /** A row-major matrix times a vector. */
    private static double[] product(float[] matrix, double[] x) {
        double[] y = new double[matrix.length / x.length];
        for (int row = 0; row < y.length; row++) {
            for (int i = 0; i < x.length; i++) {
                y[row] += matrix[row * x.length + i] * x[i];
            }
        }
        return y;
    }
}
