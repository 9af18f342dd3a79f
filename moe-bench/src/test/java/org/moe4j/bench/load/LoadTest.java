package org.moe4j.bench.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.vector.VectorBackend;

/** One layer called from one thread and from sixteen at once: the same bits, no exception, and always a call that ends. */
final class LoadTest {
    private static final int THREADS = 16;
    private static final long STUCK_SECONDS = 60;

    private static List<Backend> backends() {
        return List.of(VectorBackend.float32(), Nd4jBackend.float32());
    }

    /** How many calls gave other bits or an exception. */
    private static int wrong(LoadedLayer layer, int threads, int calls) throws InterruptedException {
        AtomicInteger next = new AtomicInteger();
        AtomicInteger right = new AtomicInteger();
        CountDownLatch running = new CountDownLatch(threads);
        for (int t = 0; t < threads; t++) {
            Thread caller = new Thread(() -> {
                try {
                    for (int i = next.getAndIncrement(); i < calls; i = next.getAndIncrement()) {
                        right.addAndGet(layer.call(i) ? 1 : 0);
                    }
                } finally {
                    running.countDown();
                }
            });
            caller.setDaemon(true);
            caller.start();
        }
        for (int before = -1; !running.await(STUCK_SECONDS, TimeUnit.SECONDS); before = next.get()) {
            assertThat(next.get()).as("calls begun, and again 60 s later").isGreaterThan(before);
        }
        return calls - right.get();
    }

    private static void load(LoadedLayer.Sizes sizes, String what, int single, int many) throws InterruptedException {
        for (Backend backend : backends()) {
            try (LoadedLayer layer = LoadedLayer.on(backend, sizes)) {
                assertThat(wrong(layer, 1, single))
                        .as("%s on one thread", backend)
                        .isZero();
                assertThat(wrong(layer, THREADS, many))
                        .as("%s on many threads", backend)
                        .isZero();
            }
            Promise.measured(
                    23,
                    what + " layers on " + backend,
                    String.format(
                            Locale.ROOT,
                            "0 wrong of %,d calls on one thread and %,d from %d threads",
                            single,
                            many,
                            THREADS));
        }
    }

    @Test
    void layersAreSharedByThreads() throws InterruptedException {
        load(LoadedLayer.Sizes.SMALL, "small", 500, 4_000);
        load(LoadedLayer.Sizes.LARGE, "large", 20, 200);
    }

    @Tag("soak")
    @Test
    void smallLayersAreSharedByThreadsForAMillionCalls() throws InterruptedException {
        load(LoadedLayer.Sizes.SMALL, "small", 200_000, 1_000_000);
    }

    @Tag("soak")
    @Test
    void largeLayersAreSharedByThreadsForTenThousandCalls() throws InterruptedException {
        load(LoadedLayer.Sizes.LARGE, "large", 2_000, 10_000);
    }
}
