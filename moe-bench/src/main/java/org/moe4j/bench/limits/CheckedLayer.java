package org.moe4j.bench.limits;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.layer.Coefficients;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.preset.Preset;
import org.moe4j.merge.MergeConvention;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** A random layer of a preset that can be checked against plain loops: a wrong one is not worth a measurement. */
public final class CheckedLayer implements AutoCloseable {
    private final MoeLayer layer;
    private final Backend backend;
    private final FeedForwardExperts routed;
    private final List<FeedForwardExperts> shared = new ArrayList<>();

    /**
     * Draws a layer.
     *
     * @param preset sizes and conventions
     * @param kind backend and kind of weights
     */
    public CheckedLayer(Preset preset, LayerKind kind) {
        backend = kind.backend();
        routed = kind.experts(ExpertShape.routed(preset), 1);
        MoeLayer plain = MoeLayer.of(router(preset, backend), routed);
        for (ExpertShape shape : ExpertShape.shared(preset)) {
            shared.add(kind.experts(shape, 4));
        }
        layer = shared.isEmpty()
                ? plain
                : plain.withShared(
                        new SharedBranch(List.<Experts>copyOf(shared), MergeConvention.from(preset, backend, 5)));
    }

    /**
     * The router of every layer of a preset.
     *
     * @param preset sizes and conventions
     * @param backend makes the weight
     * @return a random router
     */
    public static TopKRouter router(Preset preset, Backend backend) {
        return TopKRouter.random(RouterConfig.from(preset), ExpertShape.tokenWidth(preset), backend, 2);
    }

    /**
     * The tokens of every layer of a preset.
     *
     * @param preset sizes
     * @param backend makes the matrix
     * @param count T
     * @return (T×D), standard normal
     */
    public static Matrix tokens(Preset preset, Backend backend, int count) {
        return Initializer.normal(1).draw(backend, count, ExpertShape.tokenWidth(preset), 3);
    }

    /**
     * The layer.
     *
     * @return closed with this
     */
    public MoeLayer layer() {
        return layer;
    }

    /**
     * Compares the last token with loops in double.
     *
     * @param tokens (T×D), T at least 1
     * @throws IllegalStateException when forward or apply is off by more than rounding can explain
     */
    public void check(Matrix tokens) {
        int last = tokens.rows() - 1;
        double[] x = row(tokens, last);
        double[] expected = new double[x.length];
        try (MoePass pass = layer.forward(tokens);
                Matrix forward = pass.output();
                Matrix applied = layer.apply(tokens)) {
            Coefficients coefficients = pass.coefficients();
            for (int rank = 0; rank < pass.routing().count(last); rank++) {
                PlainExpert expert = PlainExpert.of(routed, pass.routing().expert(last, rank));
                expert.add(coefficients.routed(last, rank), x, expected);
            }
            for (int i = 0; i < shared.size(); i++) {
                PlainExpert.of(shared.get(i), 0).add(coefficients.shared(last, i), x, expected);
            }
            compare(expected, row(forward, last), backend.unitRoundoff());
            compare(expected, row(applied, last), backend.unitRoundoff());
        }
    }

    /**
     * Compares a row with what plain loops gave.
     *
     * @param expected D numbers
     * @param actual D numbers
     * @param unitRoundoff of the backend
     * @throws IllegalStateException when they differ by more than rounding can explain
     */
    public static void compare(double[] expected, double[] actual, double unitRoundoff) {
        double largest = 0;
        double worst = 0;
        for (int i = 0; i < expected.length; i++) {
            largest = Math.max(largest, Math.abs(expected[i]));
            worst = Math.max(worst, Math.abs(expected[i] - actual[i]));
        }
        if (!(worst <= 4 * Math.sqrt(expected.length) * unitRoundoff * largest)) {
            throw new IllegalStateException(
                    "layer: expected the result of plain loops but was off by " + worst + " of " + largest);
        }
    }

    /**
     * One row.
     *
     * @param matrix any
     * @param row its index
     * @return its numbers
     */
    public static double[] row(Matrix matrix, int row) {
        double[] values = new double[matrix.columns()];
        for (int c = 0; c < values.length; c++) {
            values[c] = matrix.get(row, c);
        }
        return values;
    }

    @Override
    public void close() {
        layer.close();
    }
}
