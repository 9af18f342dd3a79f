package org.moe4j.bench.study.balancing;

/**
 * Seeds and steps of the balancing study; its layers are those of {@link BalancingStudy}.
 *
 * @param seeds teachers, starts and streams of tokens; at least 1
 * @param steps of training, at least 1
 * @param every steps from one measurement to the next; divides the number of steps
 * @param heldOut tokens of a measurement, at least 1
 */
public record BalancingSettings(int seeds, int steps, int every, int heldOut) {
    /**
     * Checks the numbers.
     *
     * @param seeds teachers, starts and streams of tokens; at least 1
     * @param steps of training, at least 1
     * @param every steps from one measurement to the next; divides the number of steps
     * @param heldOut tokens of a measurement, at least 1
     */
    public BalancingSettings {
        atLeastOne("seeds", seeds);
        atLeastOne("steps", steps);
        atLeastOne("every", every);
        atLeastOne("heldOut", heldOut);
        if (steps % every != 0) {
            throw new IllegalArgumentException("every: expected a divisor of " + steps + " (steps) but was " + every);
        }
    }

    private static void atLeastOne(String name, int value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + ": expected at least 1 but was " + value);
        }
    }

    /**
     * The whole study.
     *
     * @return three seeds
     */
    public static BalancingSettings full() {
        return new BalancingSettings(3, 1500, 50, 4096);
    }

    /**
     * A look in seconds.
     *
     * @return the first seed alone
     */
    public static BalancingSettings quick() {
        BalancingSettings full = full();
        return new BalancingSettings(1, full.steps, full.every, full.heldOut);
    }

    /**
     * Measurements of the study, for showing progress.
     *
     * @return one per seed and {@link #every} steps, and one before the first
     */
    public int measurements() {
        return seeds * (steps / every + 1);
    }
}
