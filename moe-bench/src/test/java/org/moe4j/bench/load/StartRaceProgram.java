package org.moe4j.bench.load;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.moe4j.core.backend.Backends;

/** Sixteen threads whose first use of a backend is at the same time; prints how many of them got the bits of one thread alone. */
final class StartRaceProgram {
    private static final int THREADS = 16;

    private StartRaceProgram() {}

    private static LoadedLayer layer(String backend) {
        Backends.Precision single = Backends.Precision.FLOAT32;
        return LoadedLayer.on(
                backend.equals("best") ? Backends.best(single) : Backends.named(backend, single),
                LoadedLayer.Sizes.SMALL);
    }

    public static void main(String[] arguments) throws InterruptedException {
        CountDownLatch start = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(THREADS);
        LoadedLayer[] layers = new LoadedLayer[THREADS];
        for (int t = 0; t < THREADS; t++) {
            int index = t;
            Thread thread = new Thread(() -> {
                try {
                    start.await();
                    layers[index] = layer(arguments[0]);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                } finally {
                    ended.countDown();
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        start.countDown();
        boolean all = ended.await(60, TimeUnit.SECONDS);
        AtomicInteger right = new AtomicInteger();
        try (LoadedLayer alone = layer(arguments[0])) {
            for (LoadedLayer raced : layers) {
                right.addAndGet(raced != null && raced.hasBitsOf(alone) ? 1 : 0);
            }
        }
        System.out.println((all ? "ended" : "stuck") + ", " + right + " of " + THREADS + " right");
    }
}
