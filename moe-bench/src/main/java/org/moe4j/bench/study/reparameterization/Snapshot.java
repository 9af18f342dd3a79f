package org.moe4j.bench.study.reparameterization;

import java.util.List;
import java.util.function.ToDoubleFunction;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Point;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Parameters;

/** Outputs and parameters of a layer at one step. */
final class Snapshot {
    private final double[] output;
    private final List<String> names;
    private final List<double[]> parameters;

    Snapshot(MoeLayer layer, Matrix tokens) {
        try (Matrix computed = layer.apply(tokens);
                Parameters values = layer.parameters()) {
            output = computed.toArray();
            names = List.copyOf(values.names());
            parameters = names.stream().map(name -> values.get(name).toArray()).toList();
        }
    }

    /** How far this one is from an original. */
    Point from(Snapshot original, int step, ToDoubleFunction<String> factor) {
        double most = 0;
        for (int i = 0; i < names.size(); i++) {
            double c = factor.applyAsDouble(names.get(i));
            most = Math.max(most, deviation(parameters.get(i), c, original.parameters.get(i)));
        }
        return new Point(step, deviation(output, 1, original.output), most);
    }

    /** {@code max |a/c − b| / max |b|}. */
    private static double deviation(double[] a, double c, double[] b) {
        double most = 0;
        double size = 0;
        for (int i = 0; i < a.length; i++) {
            most = Math.max(most, Math.abs(a[i] / c - b[i]));
            size = Math.max(size, Math.abs(b[i]));
        }
        return most / size;
    }
}
