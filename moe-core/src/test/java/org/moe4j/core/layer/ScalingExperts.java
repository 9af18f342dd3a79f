package org.moe4j.core.layer;

import java.util.LinkedHashMap;
import java.util.Map;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;

/** Experts of tests, {@code f_e(x) = a_e · x}, that give up what they made whichever kernel fails. */
final class ScalingExperts implements Experts {
    private final Backend backend;
    private final ExpertShape shape;
    private final double[] factors;

    ScalingExperts(Backend backend, int hiddenSize, double... factors) {
        this.backend = backend;
        this.shape = new ExpertShape(factors.length, hiddenSize, 1);
        this.factors = factors.clone();
    }

    private double[] ofRows(RowGroups groups) {
        double[] ofRows = new double[groups.rows()];
        for (int e = 0; e < factors.length; e++) {
            for (int row = groups.from(e); row < groups.to(e); row++) {
                ofRows[row] = factors[e];
            }
        }
        return ofRows;
    }

    @Override
    public ExpertsPass forward(Matrix tokens, int[] rows, RowGroups groups) {
        try (Unfinished made = new Unfinished()) {
            Matrix x = made.add(backend.gatherRows(tokens, rows));
            Matrix y = backend.scaleRows(x, ofRows(groups));
            made.keep();
            return new Pass(x, y, groups);
        }
    }

    @Override
    public Matrix apply(Matrix tokens, int[] rows, RowGroups groups) {
        try (Matrix x = backend.gatherRows(tokens, rows)) {
            return backend.scaleRows(x, ofRows(groups));
        }
    }

    private final class Pass implements ExpertsPass {
        private final Matrix x;
        private final Matrix y;
        private final RowGroups groups;

        Pass(Matrix x, Matrix y, RowGroups groups) {
            this.x = x;
            this.y = y;
            this.groups = groups;
        }

        @Override
        public Matrix output() {
            return y;
        }

        @Override
        public Gradients backward(Matrix dOutput) {
            double[] dots = backend.rowDots(x, dOutput);
            try (Unfinished made = new Unfinished()) {
                Map<String, Matrix> gradients = new LinkedHashMap<>();
                for (int e = 0; e < factors.length; e++) {
                    double sum = 0;
                    for (int row = groups.from(e); row < groups.to(e); row++) {
                        sum += dots[row];
                    }
                    gradients.put(e + ".factor", made.add(backend.matrix(1, 1, new double[] {sum})));
                }
                Matrix dInput = backend.scaleRows(dOutput, ofRows(groups));
                made.keep();
                return new Gradients(dInput, Parameters.of(gradients));
            }
        }

        @Override
        public void close() {
            x.close();
            y.close();
        }
    }

    @Override
    public ExpertShape shape() {
        return shape;
    }

    @Override
    public Backend backend() {
        return backend;
    }

    @Override
    public Parameters parameters() {
        Map<String, Matrix> all = new LinkedHashMap<>();
        for (int e = 0; e < factors.length; e++) {
            all.put(e + ".factor", backend.matrix(1, 1, new double[] {factors[e]}));
        }
        return Parameters.of(all);
    }

    @Override
    public Experts withParameters(Parameters parameters) {
        double[] other = new double[factors.length];
        for (int e = 0; e < other.length; e++) {
            other[e] = parameters.get(e + ".factor").get(0, 0);
        }
        return new ScalingExperts(backend, shape.hiddenSize(), other);
    }

    @Override
    public void close() {}
}
