package org.moe4j.core.nd4j;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.testing.Cases;
import org.moe4j.core.vector.VectorBackend;

/**
 * Calls while memory is full: the Java heap at a place of the call that differs from try to try, or the native memory that the process
 * may have. After each, memory is freed, and the same call has to give the same bits.
 */
final class FullMemoryProgram {
    private static final int SIZE = 24;
    private static final int EXPERTS = 6;

    private final Bank bank;
    private final Matrix tokens;
    private final Matrix dOutput;
    private final int[] rows;
    private final RowGroups groups = RowGroups.ofSizes(9, 0, 1, 30, 5, 3);

    /** What fills the heap, and the room in it: an array, as compiled code forgets what only a variable holds that nobody reads again. */
    private final Object[] held = new Object[2];

    private FullMemoryProgram(Backend backend) {
        Cases cases = new Cases(3);
        List<Matrix> gate = new ArrayList<>();
        List<Matrix> up = new ArrayList<>();
        List<Matrix> down = new ArrayList<>();
        for (int e = 0; e < EXPERTS; e++) {
            gate.add(cases.matrix(backend, SIZE, SIZE));
            up.add(cases.matrix(backend, SIZE, SIZE));
            down.add(cases.matrix(backend, SIZE, SIZE));
        }
        bank = backend.prepare(BankWeights.swiGlu(gate, up, down));
        tokens = cases.matrix(backend, 50, SIZE);
        dOutput = cases.matrix(backend, groups.rows(), SIZE);
        rows = cases.indices(groups.rows(), 50);
    }

    private int call() {
        try (BankPass pass = bank.forward(tokens, rows, groups);
                Matrix applied = bank.apply(tokens, rows, groups);
                BankPass.BankGradients gradients = pass.backward(dOutput)) {
            return Arrays.hashCode(pass.output().toArray())
                    + 31 * Arrays.hashCode(applied.toArray())
                    + 37 * Arrays.hashCode(gradients.input().toArray());
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        switch (arguments[0]) {
            case "vector" -> new FullMemoryProgram(VectorBackend.float32()).heap(Integer.parseInt(arguments[1]));
            case "nd4j" -> new FullMemoryProgram(Nd4jBackend.float32()).heap(Integer.parseInt(arguments[1]));
            default -> new FullMemoryProgram(Nd4jBackend.float32()).nativeMemory();
        }
    }

    private void heap(int tries) throws InterruptedException {
        int bits = call();
        for (int i = 0; i < 50; i++) {
            call();
        }
        long used = NativeMemory.shared().used();
        SplittableRandom random = new SplittableRandom(5);
        int failed = 0;
        int wrong = 0;
        for (int i = 0; i < tries; i++) {
            fill(random);
            try {
                wrong += call() == bits ? 0 : 1;
            } catch (OutOfMemoryError full) {
                failed++;
            }
            held[0] = null;
            wrong += call() == bits ? 0 : 1;
        }
        System.out.println(failed + " of " + tries + " calls failed, " + wrong + " wrong, lost "
                + (settled(used) - used) + " bytes");
    }

    /** Fills the heap up to a few bytes or kilobytes. */
    private void fill(SplittableRandom random) {
        int size = 1 << (4 + random.nextInt(16));
        held[1] = new byte[size + random.nextInt(size)];
        for (int piece = 1 << 20; piece >= 16; ) {
            try {
                held[0] = new Object[] {held[0], new byte[piece]};
            } catch (OutOfMemoryError full) {
                piece /= 4;
            }
        }
        held[1] = null;
    }

    /** What is in use when the collector has found what was forgotten. */
    private static long settled(long expected) throws InterruptedException {
        for (int i = 0; i < 100 && NativeMemory.shared().used() > expected; i++) {
            System.gc();
            Thread.sleep(20);
        }
        return NativeMemory.shared().used();
    }

    /** Takes all native memory there is, and asks for more in a call. */
    private void nativeMemory() {
        int bits = call();
        List<Matrix> taken = new ArrayList<>();
        long used = NativeMemory.shared().used();
        try {
            while (true) {
                taken.add(Nd4jBackend.float32().buffer(16 << 10, 1 << 10)); // 64 MiB
            }
        } catch (OutOfMemoryError full) {
            System.out.println("full: " + full.getMessage());
        }
        long before = NativeMemory.shared().used();
        int[] many = new int[1 << 20];
        try (Matrix all = bank.apply(tokens, many, RowGroups.ofSizes(0, 0, many.length, 0, 0, 0))) {
            System.out.println("not full: " + all);
        } catch (OutOfMemoryError full) {
            System.out.println("call: " + full.getMessage());
        }
        System.out.println("kept " + (NativeMemory.shared().used() - before));
        int beside = call();
        taken.forEach(Matrix::close);
        System.out.println((beside == bits && call() == bits ? "right" : "wrong") + ", lost "
                + (NativeMemory.shared().used() - used) + " bytes");
    }
}
