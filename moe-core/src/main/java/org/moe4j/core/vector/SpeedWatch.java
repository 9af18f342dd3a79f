package org.moe4j.core.vector;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.moe4j.core.vector.tile.Shapes;
import org.slf4j.LoggerFactory;

/**
 * Watches how long runs take once they are compiled, and warns, once, when even the fastest is far slower than these kernels are. The
 * usual cause is code that uses vectors of another length in the same process: the compiler then keeps vectors on the heap.
 *
 * <p>It only reads the clock before and after a run: nothing is computed for it. A disturbed machine does not mislead it, since the
 * fastest of many runs counts.
 */
final class SpeedWatch {
    /** Of this process: compiled code is shared by all backends. */
    static final SpeedWatch PROCESS =
            new SpeedWatch(line -> LoggerFactory.getLogger(SpeedWatch.class).warn("{}", line));

    static final int WARMING = 300;
    static final int WATCHED = 100;

    /** Kernels kept on the heap take ten times as long as they should; a slow memory or half a core at most three times. */
    static final int SLOWEST = 6;

    private static final long SHORTEST = 1_000_000; // below, waking helpers and the like would count
    private static final int LANES_OF_COST = 16;
    private static final int PERCENT = 100;

    private final Consumer<String> log;
    private final AtomicInteger runs = new AtomicInteger();
    private final AtomicLong fastest = new AtomicLong(Long.MAX_VALUE);

    SpeedWatch(Consumer<String> log) {
        this.log = log;
    }

    /** Takes note of a run that was expected to take so long on one thread by {@link Cost}, and had so many. */
    void ran(long nanos, long cost, int threads) {
        long expected = cost * LANES_OF_COST / (Shapes.FLOAT_PANEL / 2) / threads;
        if (expected < SHORTEST || runs.get() >= WARMING + WATCHED) {
            return;
        }
        int run = runs.incrementAndGet();
        if (run > WARMING) {
            fastest.accumulateAndGet(nanos * PERCENT / expected, Math::min);
        }
        if (run == WARMING + WATCHED) {
            warning(fastest.get()).ifPresent(log);
        }
    }

    private static Optional<String> warning(long percent) {
        return percent <= (long) SLOWEST * PERCENT
                ? Optional.empty()
                : Optional.of("VectorBackend is slow: the fastest of " + WATCHED + " runs took " + percent / PERCENT
                        + " times as long as expected, on " + Vectors.machine()
                        + "; look for other code in this process that uses the Vector API with another length of vectors,"
                        + " for a JVM that interprets, or for a CPU without fused multiply-adds; nd4j may be faster");
    }
}
