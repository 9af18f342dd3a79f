package org.moe4j.core.host;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.vector.VectorBackend;

/** Many backends, called by many threads; prints how many threads of the library there are, and again after some seconds without work. */
final class WorkerThreadsProgram {
    private static final int WORKERS = 3;
    private static final int CALLERS = 8;
    private static final int BACKENDS = 20;
    private static final int SIZE = 200;

    private WorkerThreadsProgram() {}

    public static void main(String[] arguments) throws InterruptedException {
        List<Thread> callers = new ArrayList<>();
        AtomicLong most = new AtomicLong();
        for (int c = 0; c < CALLERS; c++) {
            Thread caller = new Thread(() -> {
                for (int i = 0; i < BACKENDS; i++) {
                    multiply(VectorBackend.float32().withWorkers(WORKERS));
                    multiply(Nd4jBackend.float32().withWorkers(WORKERS));
                    most.accumulateAndGet(helpers(), Math::max);
                }
            });
            callers.add(caller);
            caller.start();
        }
        for (Thread caller : callers) {
            caller.join();
        }
        Thread.sleep(1000L * Integer.parseInt(arguments[0]));
        System.out.println("at most " + most + " helpers, then " + helpers() + ", others "
                + Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> !thread.isDaemon())
                        .filter(thread -> thread != Thread.currentThread())
                        .map(Thread::getName)
                        .filter(name -> !name.equals("DestroyJavaVM"))
                        .toList());
    }

    private static void multiply(Backend backend) {
        try (Matrix a = backend.matrix(SIZE, SIZE, new double[SIZE * SIZE]);
                Matrix y = backend.matmul(a, a)) {
            if (y.rows() != SIZE) {
                throw new IllegalStateException();
            }
        }
    }

    private static long helpers() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(Thread::isDaemon)
                .filter(thread -> thread.getName().startsWith("moe4j-worker-"))
                .count();
    }
}
