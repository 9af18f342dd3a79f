package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.moe4j.merge.rewrite.SharedLayers.BACKEND;
import static org.moe4j.merge.rewrite.SharedLayers.HIDDEN;
import static org.moe4j.merge.rewrite.SharedLayers.SWIGLU;
import static org.moe4j.merge.rewrite.SharedLayers.distance;
import static org.moe4j.merge.rewrite.SharedLayers.equalGates;
import static org.moe4j.merge.rewrite.SharedLayers.experts;
import static org.moe4j.merge.rewrite.SharedLayers.gate;
import static org.moe4j.merge.rewrite.SharedLayers.layer;
import static org.moe4j.merge.rewrite.SharedLayers.random;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.math3.linear.Array2DRowRealMatrix;
import org.apache.commons.math3.linear.RealMatrix;
import org.apache.commons.math3.linear.SingularValueDecomposition;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;

/** What a verdict says about training, tried: 25 steps of both forms towards the same targets. */
class TrainsAlikeTest {
    private static final int STEPS = 25;
    private static final Matrix TOKENS = random(12, HIDDEN, 21);
    private static final Matrix TARGETS = random(12, HIDDEN, 22);

    /** A few u for each step, and room for what curvature makes of it. */
    private static final double ALIKE = 1e-13;

    private static final double APART = 1e-2;

    /** Changes one parameter, in place. */
    private interface Rule {
        void step(String name, double[] values, double[] gradient, int columns);
    }

    private static Rule sgd(double rate) {
        return (name, values, gradient, columns) -> {
            for (int i = 0; i < values.length; i++) {
                values[i] -= rate * gradient[i];
            }
        };
    }

    /** AdamW (Loshchilov and Hutter, 2019), with moments of its own. */
    private static Rule adamW(double rate, double decay) {
        Map<String, double[]> first = new HashMap<>();
        Map<String, double[]> second = new HashMap<>();
        Map<String, Integer> steps = new HashMap<>();
        return (name, values, gradient, columns) -> {
            double[] m = first.computeIfAbsent(name, absent -> new double[values.length]);
            double[] v = second.computeIfAbsent(name, absent -> new double[values.length]);
            int step = steps.merge(name, 1, Integer::sum);
            for (int i = 0; i < values.length; i++) {
                m[i] = 0.9 * m[i] + 0.1 * gradient[i];
                v[i] = 0.99 * v[i] + 0.01 * gradient[i] * gradient[i];
                double mean = m[i] / (1 - Math.pow(0.9, step));
                double square = v[i] / (1 - Math.pow(0.99, step));
                values[i] -= rate * (mean / (Math.sqrt(square) + 1e-8) + decay * values[i]);
            }
        };
    }

    /** What Muon approximates: the nearest orthogonal matrix of each gradient. */
    private static Rule orthogonal(double rate) {
        return (name, values, gradient, columns) -> {
            RealMatrix matrix = new Array2DRowRealMatrix(gradient.length / columns, columns);
            for (int i = 0; i < gradient.length; i++) {
                matrix.setEntry(i / columns, i % columns, gradient[i]);
            }
            SingularValueDecomposition parts = new SingularValueDecomposition(matrix);
            RealMatrix direction = parts.getU().multiply(parts.getVT());
            for (int i = 0; i < values.length; i++) {
                values[i] -= rate * direction.getEntry(i / columns, i % columns);
            }
        };
    }

    private static Rule frozenGate(Rule rule) {
        return (name, values, gradient, columns) -> {
            if (!name.equals("merge.gate")) {
                rule.step(name, values, gradient, columns);
            }
        };
    }

    /** Another rule for the down biases of shared experts. */
    private static Rule withDownBiases(Rule rule, Rule ofDownBiases) {
        return (name, values, gradient, columns) -> {
            boolean is = name.startsWith("shared.") && name.endsWith(".downBias");
            (is ? ofDownBiases : rule).step(name, values, gradient, columns);
        };
    }

    /** The output on the tokens after some steps down ½·‖Y − targets‖². */
    private static Matrix trained(MoeLayer layer, Rule rule) {
        MoeLayer now = layer;
        for (int step = 0; step < STEPS; step++) {
            try (MoePass pass = now.forward(TOKENS)) {
                Gradients gradients = pass.backward(BACKEND.linearCombination(1, pass.output(), -1, TARGETS));
                Parameters next = now.parameters().map((name, matrix) -> {
                    double[] values = matrix.toArray();
                    rule.step(name, values, gradients.parameters().get(name).toArray(), matrix.columns());
                    return BACKEND.matrix(matrix.rows(), matrix.columns(), values);
                });
                now = now.withParameters(next);
            }
        }
        return now.apply(TOKENS);
    }

    private static double apart(MoeLayer layer, Rule ofParts, Rule ofWide) {
        Matrix before = layer.apply(TOKENS);
        Matrix parts = trained(layer, ofParts);
        assertThat(distance(before, parts)).as("it learns").isGreaterThan(0.1);
        return distance(parts, trained(SharedBranchCollapse.collapse(layer), ofWide));
    }

    @Test
    void fixedCoefficientsTrainAlikeElementByElement() {
        MoeLayer layer = layer(ScaledMerge.scaled(1, 0.7), experts(SWIGLU, false, 1, 3, 5, 2));
        assertThat(Collapsibility.of(layer).trainsAlike()).isTrue();
        assertThat(apart(layer, sgd(0.02), sgd(0.02))).isLessThan(ALIKE);
        assertThat(apart(layer, adamW(0.01, 0.1), adamW(0.01, 0.1))).isLessThan(ALIKE);
    }

    @Test
    void noPartitionSurvivesWholeMatrices() {
        MoeLayer layer = layer(ScaledMerge.sum(), experts(SWIGLU, false, 1, 3, 5, 2));
        assertThat(apart(layer, orthogonal(0.01), orthogonal(0.01))).isGreaterThan(APART);
    }

    private static List<MoeLayer> gated() {
        double[] zero = new double[HIDDEN];
        return List.of(
                layer(equalGates(SharedScore.SIGMOID, 3, 5), experts(SWIGLU, false, 1, 3, 5, 2)),
                layer(equalGates(SharedScore.SOFTMAX, 3, 5), experts(SWIGLU, false, 1, 3, 5, 2)),
                layer(equalGates(SharedScore.NORMALIZED_SIGMOID, 3, 5), experts(SWIGLU, false, 1, 3, 5, 2)),
                layer(gate(SharedScore.SIGMOID, zero, zero, zero), experts(SWIGLU, false, 1, 3, 5, 2)));
    }

    @Test
    void gateRowsGoApart() {
        for (MoeLayer layer : gated()) {
            assertThat(Collapsibility.of(layer).trainsAlike()).isFalse();
            assertThat(apart(layer, sgd(0.02), sgd(0.02))).isGreaterThan(APART);
        }
    }

    @Test
    void frozenGatesDoNot() {
        for (MoeLayer layer : gated()) {
            assertThat(apart(layer, frozenGate(sgd(0.02)), frozenGate(sgd(0.02))))
                    .isLessThan(ALIKE);
        }
    }

    @Test
    void downBiasesGoApartUnlessTheStepIsScaled() {
        MoeLayer layer = layer(ScaledMerge.sum(), experts(new Activation.GeluExact(), true, 1, 3, 5, 2));
        assertThat(Collapsibility.of(layer).trainsAlike()).isFalse();
        assertThat(apart(layer, sgd(0.02), sgd(0.02))).isGreaterThan(APART);
        assertThat(apart(layer, sgd(0.02), withDownBiases(sgd(0.02), sgd(3 * 0.02))))
                .isLessThan(ALIKE);
        Rule wide = withDownBiases(adamW(0.01, 0.1), adamW(3 * 0.01, 0.1 / 3));
        assertThat(apart(layer, adamW(0.01, 0.1), wide)).isLessThan(ALIKE);
    }
}
