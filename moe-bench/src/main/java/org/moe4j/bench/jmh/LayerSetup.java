package org.moe4j.bench.jmh;

import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** A random layer of a preset with tokens for it, checked against plain loops before anything is measured. */
final class LayerSetup implements AutoCloseable {
    final MoeLayer layer;
    final SwiGluExperts experts;
    final Matrix tokens;
    final Matrix output;
    private final Backend backend;

    LayerSetup(Preset preset, Backend backend, int tokenCount) {
        this.backend = backend;
        ExpertShape shape = ExpertShape.routed(preset);
        int width = ExpertShape.tokenWidth(preset);
        experts = SwiGluExperts.random(shape, backend, 1);
        layer = MoeLayer.of(TopKRouter.random(RouterConfig.from(preset), width, backend, 2), experts);
        tokens = Initializer.normal(1).draw(backend, tokenCount, width, 3);
        output = backend.buffer(tokenCount, width);
    }

    /** Compares some elements of the last token with loops in double; a wrong layer is not worth a measurement. */
    void check() {
        int last = tokens.rows() - 1;
        int d = tokens.columns();
        double[] x = row(tokens, last);
        double[] expected = new double[d];
        try (MoePass pass = layer.forward(tokens);
                Matrix forward = pass.output()) {
            for (int rank = 0; rank < pass.routing().count(last); rank++) {
                try (SwiGluWeights weights = experts.expert(pass.routing().expert(last, rank))) {
                    add(expected, pass.routing().weight(last, rank), weights, x);
                }
            }
            layer.applyInto(tokens, output);
            compare(expected, row(forward, last));
            compare(expected, row(output, last));
        }
    }

    private void compare(double[] expected, double[] actual) {
        double norm = 0;
        double worst = 0;
        for (int i = 0; i < expected.length; i++) {
            norm = Math.max(norm, Math.abs(expected[i]));
            worst = Math.max(worst, Math.abs(expected[i] - actual[i]));
        }
        if (!(worst <= 4 * Math.sqrt(expected.length) * backend.unitRoundoff() * norm)) {
            throw new IllegalStateException(
                    "layer: expected the result of plain loops but was off by " + worst + " of " + norm);
        }
    }

    private static double[] row(Matrix matrix, int row) {
        double[] values = new double[matrix.columns()];
        for (int c = 0; c < values.length; c++) {
            values[c] = matrix.get(row, c);
        }
        return values;
    }

    private static void add(double[] into, double weight, SwiGluWeights expert, double[] x) {
        double[] gate = expert.gate().toArray();
        double[] up = expert.up().toArray();
        double[] down = expert.down().toArray();
        int f = expert.intermediateSize();
        double[] hidden = new double[f];
        for (int i = 0; i < f; i++) {
            double g = dot(gate, i * x.length, x);
            hidden[i] = g / (1 + Math.exp(-g)) * dot(up, i * x.length, x);
        }
        for (int i = 0; i < into.length; i++) {
            into[i] += weight * dot(down, i * f, hidden);
        }
    }

    private static double dot(double[] matrix, int from, double[] x) {
        double sum = 0;
        for (int i = 0; i < x.length; i++) {
            sum += matrix[from + i] * x[i];
        }
        return sum;
    }

    @Override
    public void close() {
        output.close();
        tokens.close();
        layer.close();
    }
}
