package org.moe4j.bench.optimizer;

import org.moe4j.core.internal.Require;

/** Checks of settings, gradients and states. */
final class Numbers {
    private Numbers() {}

    static void belowOne(String name, double value) {
        if (!(value >= 0 && value < 1)) {
            throw Require.expected(name, "a number in [0, 1)", value);
        }
    }

    static void aboveZero(String name, double value) {
        if (!(value > 0)) {
            throw Require.expected(name, "a number above 0", value);
        }
        Require.finite(name, value);
    }

    static void atLeastZero(String name, double value) {
        if (!(value >= 0)) {
            throw Require.expected(name, "a number of at least 0", value);
        }
        Require.finite(name, value);
    }

    /** As many as there are parameters. */
    static double[] like(String name, double[] given, double[] values) {
        Require.count(name, given.length, values.length, "numbers (parameters)");
        return given;
    }
}
