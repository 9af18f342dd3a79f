package org.moe4j.core.nd4j;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.testing.Cases;

/** Runs a bank forward and backward many times, closes everything, and prints how much the process has grown. */
final class FlatMemoryProgram {
    private static final int TOKENS = 64;
    private static final int SIZE = 512; // hidden and intermediate
    private static final int EXPERTS = 16;

    private FlatMemoryProgram() {}

    public static void main(String[] arguments) throws IOException {
        int warmUp = Integer.parseInt(arguments[0]);
        int calls = Integer.parseInt(arguments[1]);
        Nd4jBackend backend = Nd4jBackend.float32();
        Cases cases = new Cases(1);
        try (Bank bank = bank(backend, cases);
                Matrix tokens = cases.matrix(backend, TOKENS, SIZE);
                Matrix dOutput = cases.matrix(backend, TOKENS, SIZE)) {
            int[] rows = cases.indices(TOKENS, TOKENS);
            int[] sizes = new int[EXPERTS];
            for (int i = 0; i < TOKENS; i++) {
                sizes[cases.below(EXPERTS)]++;
            }
            RowGroups groups = RowGroups.ofSizes(sizes);
            long before = 0;
            for (int i = 0; i < warmUp + calls; i++) {
                if (i == warmUp) {
                    before = residentKilobytes();
                }
                try (BankPass pass = bank.forward(tokens, rows, groups);
                        Matrix applied = bank.apply(tokens, rows, groups)) {
                    failHalfWay(backend, applied);
                    pass.backward(dOutput).close();
                }
            }
            System.out.println("grown " + (residentKilobytes() - before));
        }
    }

    private static Bank bank(Nd4jBackend backend, Cases cases) {
        List<Matrix> gate = new ArrayList<>();
        List<Matrix> up = new ArrayList<>();
        List<Matrix> down = new ArrayList<>();
        for (int e = 0; e < EXPERTS; e++) {
            gate.add(cases.matrix(backend, SIZE, SIZE));
            up.add(cases.matrix(backend, SIZE, SIZE));
            down.add(cases.matrix(backend, SIZE, SIZE));
        }
        Bank bank = backend.prepare(BankWeights.swiGlu(gate, up, down));
        gate.forEach(Matrix::close);
        up.forEach(Matrix::close);
        down.forEach(Matrix::close);
        return bank;
    }

    /** A call that fails after its first argument was found good must not hold on to it. */
    private static void failHalfWay(Nd4jBackend backend, Matrix open) {
        Matrix closed = open.share();
        closed.close();
        try {
            backend.activate(new Activation.SwiGlu(), Projections.of(open, closed));
            throw new AssertionError("a closed matrix was accepted");
        } catch (IllegalStateException expected) {
            // it has released what it held, or memory would grow
        }
    }

    private static long residentKilobytes() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        throw new IOException("no VmRSS");
    }
}
