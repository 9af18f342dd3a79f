package org.moe4j.bench.jmh;

import java.util.LinkedHashMap;
import java.util.Map;
import org.moe4j.bench.limits.CheckedLayer;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/** Buffers for the gradients of all parameters of a layer, as a training loop keeps them from step to step. */
final class GradientBuffers implements AutoCloseable {
    private final Parameters buffers;

    private GradientBuffers(Parameters buffers) {
        this.buffers = buffers;
    }

    /** Zeros of the shapes of all parameters. */
    static GradientBuffers of(MoeLayer layer) {
        Map<String, Matrix> made = new LinkedHashMap<>();
        try (Parameters parameters = layer.parameters()) {
            for (String name : parameters.names()) {
                Matrix parameter = parameters.get(name);
                Backend backend = parameter.backend();
                made.put(name, backend.buffer(parameter.rows(), parameter.columns()));
            }
        }
        return new GradientBuffers(Parameters.of(made));
    }

    /** Adds the gradients of all parameters; the gradient of the tokens is returned. */
    Gradients add(MoePass pass, Matrix dOutput) {
        return pass.backward(dOutput, buffers.names(), buffers);
    }

    /**
     * Adds once and once more, and compares by what holds for any gradients: the output is linear in all down projections together, and in
     * all up projections, so that the sum of weights times gradients is the sum of outputs times their gradients.
     */
    void check(MoeLayer layer, Matrix tokens, Matrix dOutput) {
        try (MoePass pass = layer.forward(tokens);
                Matrix output = pass.output()) {
            double expected = 0;
            double mass = 0;
            for (int token = 0; token < output.rows(); token++) {
                double[] y = CheckedLayer.row(output, token);
                double[] dY = CheckedLayer.row(dOutput, token);
                for (int i = 0; i < y.length; i++) {
                    expected += y[i] * dY[i];
                    mass += Math.abs(y[i] * dY[i]);
                }
            }
            double tolerance =
                    4 * Math.sqrt(output.columns()) * output.backend().unitRoundoff() * mass;
            for (int times = 1; times <= 2; times++) {
                add(pass, dOutput).close();
                for (BankPart part : new BankPart[] {BankPart.DOWN, BankPart.UP}) {
                    require(layer, part, times * expected, times * tolerance);
                }
            }
        }
    }

    private void require(MoeLayer layer, BankPart part, double expected, double tolerance) {
        double sum = 0;
        try (Parameters parameters = layer.parameters()) {
            for (String name : parameters.names()) {
                if (name.endsWith("." + part.key())) {
                    sum += dot(values(parameters.get(name)), values(buffers.get(name)));
                }
            }
        }
        if (!(Math.abs(sum - expected) <= tolerance)) {
            throw new IllegalStateException("gradients: expected weights times gradients (" + part.key() + ") of "
                    + expected + " but was " + sum + "; tolerance " + tolerance);
        }
    }

    private static float[] values(Matrix matrix) {
        float[] values = new float[matrix.rows() * matrix.columns()];
        matrix.readRows(0, matrix.rows(), values);
        return values;
    }

    private static double dot(float[] a, float[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += (double) a[i] * b[i];
        }
        return sum;
    }

    @Override
    public void close() {
        buffers.close();
    }
}
