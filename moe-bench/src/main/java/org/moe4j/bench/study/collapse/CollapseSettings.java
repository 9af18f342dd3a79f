package org.moe4j.bench.study.collapse;

import java.util.List;

/**
 * Sizes and steps of the collapse study.
 *
 * @param sizes at which the function is compared
 * @param steps of training, an even number of at least 2
 * @param every steps from one measurement to the next; divides half the number of steps
 * @param heldOut tokens of a measurement, at least 1
 */
public record CollapseSettings(List<FunctionSize> sizes, int steps, int every, int heldOut) {
    /**
     * Copies and checks.
     *
     * @param sizes at which the function is compared
     * @param steps of training, an even number of at least 2
     * @param every steps from one measurement to the next; divides half the number of steps
     * @param heldOut tokens of a measurement, at least 1
     */
    public CollapseSettings {
        sizes = List.copyOf(sizes);
        if (steps < 2 || steps % 2 != 0) {
            throw new IllegalArgumentException("steps: expected an even number of at least 2 but was " + steps);
        }
        if (every < 1 || steps / 2 % every != 0) {
            throw new IllegalArgumentException(
                    "every: expected a divisor of " + steps / 2 + " (half the steps) but was " + every);
        }
        if (heldOut < 1) {
            throw new IllegalArgumentException("heldOut: expected at least 1 but was " + heldOut);
        }
    }

    /**
     * The whole study.
     *
     * @return the figure's size and the report's
     */
    public static CollapseSettings full() {
        return new CollapseSettings(List.of(FunctionSize.figure(), FunctionSize.report()), 200, 5, 256);
    }

    /**
     * A look in seconds.
     *
     * @return the figure's size alone
     */
    public static CollapseSettings quick() {
        CollapseSettings full = full();
        return new CollapseSettings(List.of(FunctionSize.figure()), full.steps, full.every, full.heldOut);
    }
}
