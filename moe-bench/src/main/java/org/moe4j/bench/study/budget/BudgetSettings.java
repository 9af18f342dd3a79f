package org.moe4j.bench.study.budget;

/**
 * Seeds and steps of the shared-budget study; its layers are those of {@link BudgetStudy}.
 *
 * @param seeds teachers, starts and streams of tokens; at least 1
 * @param steps of training, at least 1
 * @param every steps from one measurement to the next; divides the number of steps
 * @param heldOut tokens of a measurement, at least 1
 * @param starts layers that the scale before training is measured on; at least 2
 */
public record BudgetSettings(int seeds, int steps, int every, int heldOut, int starts) {
    /**
     * Checks the numbers.
     *
     * @param seeds teachers, starts and streams of tokens; at least 1
     * @param steps of training, at least 1
     * @param every steps from one measurement to the next; divides the number of steps
     * @param heldOut tokens of a measurement, at least 1
     * @param starts layers that the scale before training is measured on; at least 2
     */
    public BudgetSettings {
        atLeast("seeds", seeds, 1);
        atLeast("steps", steps, 1);
        atLeast("every", every, 1);
        atLeast("heldOut", heldOut, 1);
        atLeast("starts", starts, 2);
        if (steps % every != 0) {
            throw new IllegalArgumentException("every: expected a divisor of " + steps + " (steps) but was " + every);
        }
    }

    private static void atLeast(String name, int value, int least) {
        if (value < least) {
            throw new IllegalArgumentException(name + ": expected at least " + least + " but was " + value);
        }
    }

    /**
     * The whole study.
     *
     * @return five seeds
     */
    public static BudgetSettings full() {
        return new BudgetSettings(5, 1200, 60, 4096, 64);
    }

    /**
     * A look in seconds.
     *
     * @return the first seed alone
     */
    public static BudgetSettings quick() {
        BudgetSettings full = full();
        return new BudgetSettings(1, full.steps, full.every, full.heldOut, full.starts);
    }

    /**
     * Measurements of the study, for showing progress.
     *
     * @return one per teacher, seed and {@link #every} steps, and one before the first
     */
    public int measurements() {
        return BudgetTeacher.values().length * seeds * (steps / every + 1);
    }
}
