package org.moe4j.core.backend;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.moe4j.core.backend.Backend.GateUp;

/** A bank that runs the elementary kernels one after another: the definition that every fused bank is compared with. */
final class ElementaryBank implements Bank {
    private final Backend backend;
    private final List<Matrix> gate;
    private final List<Matrix> up;
    private final List<Matrix> down;

    ElementaryBank(Backend backend, List<Matrix> gate, List<Matrix> up, List<Matrix> down) {
        KernelChecks.bank(backend, gate, up, down);
        this.backend = backend;
        this.gate = handles(gate, Matrix::share);
        this.up = handles(up, Matrix::share);
        this.down = handles(down, Matrix::share);
    }

    private static List<Matrix> handles(List<Matrix> matrices, UnaryOperator<Matrix> each) {
        List<Matrix> copies = new ArrayList<>(matrices.size());
        matrices.forEach(matrix -> copies.add(each.apply(matrix)));
        return List.copyOf(copies);
    }

    @Override
    public BankPass forward(Matrix tokens, int[] rows, RowGroups groups) {
        KernelChecks.bankRun(
                backend, tokens, rows, groups, gate.size(), gate.get(0).columns());
        return new Pass(tokens, rows, groups);
    }

    @Override
    public Matrix apply(Matrix tokens, int[] rows, RowGroups groups) {
        try (BankPass pass = forward(tokens, rows, groups)) {
            return pass.output().share();
        }
    }

    @Override
    public Matrix gate(int expert) {
        return gate.get(Objects.checkIndex(expert, gate.size())).share();
    }

    @Override
    public Matrix up(int expert) {
        return up.get(Objects.checkIndex(expert, up.size())).share();
    }

    @Override
    public Matrix down(int expert) {
        return down.get(Objects.checkIndex(expert, down.size())).share();
    }

    @Override
    public void close() {
        gate.forEach(Matrix::close);
        up.forEach(Matrix::close);
        down.forEach(Matrix::close);
    }

    private final class Pass implements BankPass {
        private final RowGroups groups;
        private final List<Matrix> gates = handles(gate, Matrix::share); // its own, for when the bank is closed first
        private final List<Matrix> ups = handles(up, Matrix::share);
        private final List<Matrix> downs = handles(down, Matrix::share);
        private final Matrix x; // N×D
        private final Matrix gateOut; // N×F
        private final Matrix upOut; // N×F
        private final Matrix hidden; // N×F
        private final Matrix output; // N×D

        Pass(Matrix tokens, int[] rows, RowGroups groups) {
            this.groups = groups;
            x = backend.gatherRows(tokens, rows);
            gateOut = backend.groupedMatmulTransB(x, groups, gate);
            upOut = backend.groupedMatmulTransB(x, groups, up);
            hidden = backend.swiGlu(gateOut, upOut);
            output = backend.groupedMatmulTransB(hidden, groups, down);
        }

        @Override
        public Matrix output() {
            return output;
        }

        @Override
        public BankGradients backward(Matrix dOutput) {
            KernelChecks.gradient(backend, dOutput, output);
            List<Matrix> dDown = backend.groupedMatmulTransA(dOutput, hidden, groups);
            try (Matrix dHidden = backend.groupedMatmul(dOutput, groups, downs)) {
                GateUp d = backend.swiGluBackward(gateOut, upOut, dHidden);
                try (Matrix dGate = d.gate();
                        Matrix dUp = d.up();
                        Matrix throughGate = backend.groupedMatmul(dGate, groups, gates);
                        Matrix throughUp = backend.groupedMatmul(dUp, groups, ups)) {
                    return new BankGradients(
                            backend.add(throughGate, throughUp),
                            backend.groupedMatmulTransA(dGate, x, groups),
                            backend.groupedMatmulTransA(dUp, x, groups),
                            dDown);
                }
            }
        }

        @Override
        public void close() {
            gates.forEach(Matrix::close);
            ups.forEach(Matrix::close);
            downs.forEach(Matrix::close);
            x.close();
            gateOut.close();
            upOut.close();
            hidden.close();
            output.close();
        }
    }
}
