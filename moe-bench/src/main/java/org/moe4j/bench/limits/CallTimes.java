package org.moe4j.bench.limits;

import java.util.ArrayList;
import java.util.List;

/**
 * Times of one call that was made over and over.
 *
 * @param best seconds of the fastest
 * @param median seconds
 */
record CallTimes(double best, double median) {
    private static final int LEAST_CALLS = 5;
    private static final double NANO = 1e-9;

    /** Calls for some seconds so that the JVM compiles, then for some seconds more, at least five times each. */
    static CallTimes of(Runnable call, double warmUp, double seconds) {
        measure(call, warmUp);
        List<Double> times = measure(call, seconds).stream().sorted().toList();
        return new CallTimes(times.get(0), times.get(times.size() / 2));
    }

    private static List<Double> measure(Runnable call, double seconds) {
        List<Double> times = new ArrayList<>();
        long start = System.nanoTime();
        long before = start;
        while (times.size() < LEAST_CALLS || (before - start) * NANO < seconds) {
            call.run();
            long after = System.nanoTime();
            times.add((after - before) * NANO);
            before = after;
        }
        return times;
    }
}
