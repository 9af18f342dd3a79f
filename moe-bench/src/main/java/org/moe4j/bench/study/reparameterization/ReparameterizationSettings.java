package org.moe4j.bench.study.reparameterization;

import org.moe4j.core.internal.Require;

/**
 * Steps and tokens of the reparameterization study; its layers are those of {@link ReparameterizationStudy}.
 *
 * @param steps of training, at least 2 and even: some layers are rewritten half-way
 * @param every steps from one measurement to the next; divides half of the steps
 * @param tokens of a step, at least 1
 * @param heldOut tokens of a measurement, at least 1
 */
public record ReparameterizationSettings(int steps, int every, int tokens, int heldOut) {
    /**
     * Checks the numbers.
     *
     * @param steps of training, at least 2 and even: some layers are rewritten half-way
     * @param every steps from one measurement to the next; divides half of the steps
     * @param tokens of a step, at least 1
     * @param heldOut tokens of a measurement, at least 1
     */
    public ReparameterizationSettings {
        Require.atLeast("steps", steps, 2);
        if (steps % 2 != 0) {
            throw Require.expected("steps", "an even number", steps);
        }
        Require.atLeast("every", every, 1);
        if (steps / 2 % every != 0) {
            throw Require.expected("every", "a divisor of " + steps / 2 + " (half of the steps)", every);
        }
        Require.atLeast("tokens", tokens, 1);
        Require.atLeast("heldOut", heldOut, 1);
    }

    /**
     * The whole study.
     *
     * @return 200 steps
     */
    public static ReparameterizationSettings full() {
        return new ReparameterizationSettings(200, 10, 64, 256);
    }

    /**
     * A look in seconds.
     *
     * @return a fifth of the steps
     */
    public static ReparameterizationSettings quick() {
        ReparameterizationSettings full = full();
        return new ReparameterizationSettings(full.steps / 5, full.every, full.tokens, full.heldOut);
    }

    int half() {
        return steps / 2;
    }

    /**
     * Steps of all optimizers together, for showing progress.
     *
     * @return one per optimizer and step
     */
    public int progress() {
        return Descent.values().length * steps;
    }
}
