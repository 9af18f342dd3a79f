package org.moe4j.bench.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.vector.VectorBackend;

/** A call on a thread that is interrupted goes on to its end with the right bits, and the thread stays interrupted. */
final class InterruptedCallTest {
    private static final int CALLS = 60;

    @Test
    void interruptedCallsEndRightAndKeepTheInterruption() throws InterruptedException {
        for (Backend backend : List.of(VectorBackend.float32(), Nd4jBackend.float32())) {
            try (LoadedLayer layer = LoadedLayer.on(backend, LoadedLayer.Sizes.LARGE)) {
                AtomicInteger right = new AtomicInteger();
                AtomicInteger kept = new AtomicInteger();
                AtomicBoolean running = new AtomicBoolean(true);
                Thread caller = new Thread(() -> {
                    try {
                        for (int i = 0; i < CALLS; i++) {
                            right.addAndGet(layer.call(i) ? 1 : 0);
                            kept.addAndGet(Thread.interrupted() ? 1 : 0);
                        }
                    } finally {
                        running.set(false);
                    }
                });
                caller.start();
                int interruptions = 0;
                while (running.get()) {
                    caller.interrupt();
                    interruptions++;
                    Thread.sleep(1);
                }
                caller.join();
                assertThat(right.get()).isEqualTo(CALLS);
                assertThat(kept.get()).as("calls that were interrupted").isBetween(CALLS / 2 + 1, interruptions);
                assertThat(layer.call(0)).isTrue();
                Promise.measured(
                        23,
                        "interrupted calls on " + backend,
                        CALLS + " of " + CALLS + " right, " + kept + " interrupted");
            }
        }
    }
}
