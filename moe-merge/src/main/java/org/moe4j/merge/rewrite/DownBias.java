package org.moe4j.merge.rewrite;

import java.util.List;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;

/** What happens to the down biases (1×D), the one kind of weights that a partition does not cut: each part adds its own. */
final class DownBias {
    private DownBias() {}

    /**
     * Their sum, in double precision and rounded once. A zero adds nothing, so that a bias beside zeros keeps its bits, a
     * −0 too.
     */
    static Matrix sum(List<Matrix> biases) {
        Matrix first = biases.get(0);
        double[] sum = first.toArray();
        boolean[] overflow = new boolean[sum.length];
        for (int i = 0; i < sum.length; i++) {
            overflow[i] = Double.isFinite(sum[i]);
        }
        for (Matrix bias : biases.subList(1, biases.size())) {
            double[] addend = bias.toArray();
            for (int i = 0; i < sum.length; i++) {
                overflow[i] &= Double.isFinite(addend[i]);
                if (addend[i] != 0) {
                    sum[i] += addend[i];
                }
            }
        }
        Matrix rounded = first.backend().matrix(1, sum.length, sum);
        for (int i = 0; i < sum.length; i++) {
            double value = rounded.get(0, i);
            if (overflow[i] && !Double.isFinite(value)) {
                rounded.close();
                throw Require.expected("downBias", "a finite sum over the experts", value + " in column " + i);
            }
        }
        return rounded;
    }

    /** The bias itself for the first part and zeros for the others. */
    static Matrix share(Matrix bias, int part) {
        return part == 0 ? Pieces.copy(bias) : bias.backend().matrix(1, bias.columns(), new double[bias.columns()]);
    }

    /** The gradient that all parts have. */
    static Matrix common(List<Matrix> gradients) {
        double[] first = gradients.get(0).toArray();
        for (int j = 1; j < gradients.size(); j++) {
            double[] other = gradients.get(j).toArray();
            for (int i = 0; i < first.length; i++) {
                if (Double.compare(other[i], first[i]) != 0) {
                    throw Require.expected(
                            "gradients[" + j + "].downBias",
                            first[i] + " in column " + i + " (as in gradients[0])",
                            other[i],
                            "all parts of one expert have the same gradient of their down biases, that of their sum");
                }
            }
        }
        return Pieces.copy(gradients.get(0));
    }
}
