package org.moe4j.bench.docs;

import java.util.Arrays;
import java.util.function.DoubleUnaryOperator;

/** The definitions that the library is compared with, and the arithmetic of other systems. */
final class Plain {
    private Plain() {}

    static double[] softmax(double... logits) {
        return divided(map(StrictMath::exp, logits));
    }

    static double sigmoid(double logit) {
        return 1 / (1 + StrictMath.exp(-logit));
    }

    static double silu(double x) {
        return x * sigmoid(x);
    }

    static double[] map(DoubleUnaryOperator function, double... values) {
        return Arrays.stream(values).map(function).toArray();
    }

    static double sum(double... values) {
        return Arrays.stream(values).sum();
    }

    /** Each divided by the sum of all. */
    static double[] divided(double... values) {
        return map(value -> value / sum(values), values);
    }

    static double[] plus(double[] a, double[] b) {
        double[] sum = a.clone();
        Arrays.setAll(sum, i -> a[i] + b[i]);
        return sum;
    }

    static double[] at(double[] values, int... places) {
        return Arrays.stream(places).mapToDouble(i -> values[i]).toArray();
    }

    static double[] join(double[] a, double... b) {
        double[] both = Arrays.copyOf(a, a.length + b.length);
        System.arraycopy(b, 0, both, a.length, b.length);
        return both;
    }

    /** Rounded to eight significant bits, ties to even, as bfloat16 has them; for normal numbers of its range. */
    static double bfloat16(double value) {
        double unit = Math.scalb(1.0, Math.getExponent(value) - 7);
        return Math.rint(value / unit) * unit;
    }

    /** Place of the largest; of equal ones the first. */
    static int first(double... values) {
        int best = 0;
        for (int i = 1; i < values.length; i++) {
            best = values[i] > values[best] ? i : best;
        }
        return best;
    }
}
