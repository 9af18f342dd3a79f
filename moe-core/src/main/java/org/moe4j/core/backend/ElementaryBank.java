package org.moe4j.core.backend;

import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.moe4j.core.internal.Unfinished;

/** A bank that runs the elementary kernels one after another: the definition that every fused bank is compared with. */
final class ElementaryBank implements Bank {
    private final Backend backend;
    private final BankWeights weights;

    ElementaryBank(Backend backend, BankWeights weights) {
        weights.requireOwner(backend);
        this.backend = backend;
        this.weights = weights.share();
    }

    @Override
    public BankPass forward(Matrix tokens, int[] rows, RowGroups groups) {
        weights.requireRun(backend, tokens, rows, groups);
        return new Pass(backend, weights, tokens, rows, groups);
    }

    @Override
    public Matrix apply(Matrix tokens, int[] rows, RowGroups groups) {
        try (BankPass pass = forward(tokens, rows, groups)) {
            return pass.output().share();
        }
    }

    @Override
    public Matrix weight(BankPart part, int expert) {
        return weights.get(part)
                .get(Objects.checkIndex(expert, weights.count()))
                .share();
    }

    @Override
    public void close() {
        weights.close();
    }

    private static final class Pass implements BankPass {
        private final Backend backend;
        private final BankWeights weights; // handles of its own, for when the bank is closed first
        private final RowGroups groups;
        private final Matrix x; // N×D
        private final Matrix ones; // N×1: the input of every bias
        private final Projections inner; // N×F each
        private final Matrix hidden; // N×F
        private final Matrix output; // N×D

        Pass(Backend backend, BankWeights weights, Matrix tokens, int[] rows, RowGroups groups) {
            this.backend = backend;
            this.groups = groups;
            try (Unfinished made = new Unfinished()) {
                this.weights = made.add(weights.share());
                x = made.add(backend.gatherRows(tokens, rows));
                ones = made.add(ones(backend, weights.biases() ? rows.length : 0));
                Optional<Matrix> gate = weights.activation().gated()
                        ? Optional.of(made.add(project(x, BankPart.GATE, BankPart.GATE_BIAS)))
                        : Optional.empty();
                inner = new Projections(gate, made.add(project(x, BankPart.UP, BankPart.UP_BIAS)));
                hidden = made.add(backend.activate(weights.activation(), inner));
                output = project(hidden, BankPart.DOWN, BankPart.DOWN_BIAS);
                made.keep();
            }
        }

        private static Matrix ones(Backend backend, int rows) {
            double[] values = new double[rows];
            Arrays.fill(values, 1);
            return backend.matrix(rows, 1, values);
        }

        private Matrix project(Matrix input, BankPart weight, BankPart bias) {
            Matrix product = backend.groupedMatmulTransB(input, groups, weights.get(weight));
            if (!weights.biases()) {
                return product;
            }
            try (product;
                    Matrix added = backend.groupedMatmul(ones, groups, weights.get(bias))) {
                return backend.add(product, added);
            }
        }

        @Override
        public Matrix output() {
            return output;
        }

        /** What stands on either side of each gradient of weights: {@code d = aᵀ · b} over the rows of a group. */
        private record Sides(Matrix a, Matrix b) {}

        private Map<BankPart, Sides> sides(Matrix dOutput, Projections dInner) {
            Map<BankPart, Sides> sides = new EnumMap<>(BankPart.class);
            dInner.gate().ifPresent(dGate -> sides.put(BankPart.GATE, new Sides(dGate, x)));
            sides.put(BankPart.UP, new Sides(dInner.up(), x));
            sides.put(BankPart.DOWN, new Sides(dOutput, hidden));
            if (weights.biases()) {
                dInner.gate().ifPresent(dGate -> sides.put(BankPart.GATE_BIAS, new Sides(ones, dGate)));
                sides.put(BankPart.UP_BIAS, new Sides(ones, dInner.up()));
                sides.put(BankPart.DOWN_BIAS, new Sides(ones, dOutput));
            }
            return sides;
        }

        private Projections innerGradients(Matrix dOutput) {
            try (Matrix dHidden = backend.groupedMatmul(dOutput, groups, weights.get(BankPart.DOWN))) {
                return backend.activateBackward(weights.activation(), inner, dHidden);
            }
        }

        private Matrix inputGradient(Projections dInner) {
            Matrix throughUp = backend.groupedMatmul(dInner.up(), groups, weights.get(BankPart.UP));
            if (dInner.gate().isEmpty()) {
                return throughUp;
            }
            try (throughUp;
                    Matrix throughGate =
                            backend.groupedMatmul(dInner.gateOrThrow(), groups, weights.get(BankPart.GATE))) {
                return backend.add(throughGate, throughUp);
            }
        }

        @Override
        public BankGradients backward(Matrix dOutput) {
            KernelChecks.gradient(backend, dOutput, output);
            try (Unfinished made = new Unfinished();
                    Projections dInner = innerGradients(dOutput)) {
                Map<BankPart, List<Matrix>> parts = new EnumMap<>(BankPart.class);
                sides(dOutput, dInner).forEach((part, side) -> {
                    List<Matrix> products = backend.groupedMatmulTransA(side.a(), side.b(), groups);
                    products.forEach(made::add);
                    parts.put(part, products);
                });
                BankGradients gradients = new BankGradients(inputGradient(dInner), parts);
                made.keep();
                return gradients;
            }
        }

        @Override
        public Matrix backward(Matrix dOutput, Map<BankPart, Map<Integer, Matrix>> into) {
            KernelChecks.gradient(backend, dOutput, output);
            weights.requireBuffers(backend, into);
            try (Unfinished made = new Unfinished();
                    Projections dInner = innerGradients(dOutput)) {
                Matrix dInput = made.add(inputGradient(dInner));
                sides(dOutput, dInner)
                        .forEach((part, side) -> backend.accumulateMatmulTransA(
                                side.a(), side.b(), groups, into.getOrDefault(part, Collections.emptyMap())));
                made.keep();
                return dInput;
            }
        }

        @Override
        public void close() {
            weights.close();
            x.close();
            ones.close();
            inner.close();
            hidden.close();
            output.close();
        }
    }
}
