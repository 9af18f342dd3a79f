package org.moe4j.bench.timing;

import java.util.List;

/**
 * Durations of the same call.
 *
 * @param nanoseconds at least one, ascending
 */
public record Times(List<Long> nanoseconds) {
    private static final double NANOSECONDS_PER_MILLISECOND = 1e6;

    /**
     * Sorts.
     *
     * @param nanoseconds at least one, in any order
     */
    public Times {
        if (nanoseconds.isEmpty()) {
            throw new IllegalArgumentException("nanoseconds: expected at least one duration but was none");
        }
        nanoseconds = nanoseconds.stream().sorted().toList();
    }

    /**
     * The shortest.
     *
     * @return milliseconds
     */
    public double minimum() {
        return nanoseconds.get(0) / NANOSECONDS_PER_MILLISECOND;
    }

    /**
     * The one in the middle; of an even number, the mean of the two.
     *
     * @return milliseconds
     */
    public double median() {
        int half = nanoseconds.size() / 2;
        long upper = nanoseconds.get(half);
        long lower = nanoseconds.get((nanoseconds.size() - 1) / 2);
        return (lower + upper) / (2 * NANOSECONDS_PER_MILLISECOND);
    }
}
