package org.moe4j.bench.study.collapse;

import java.util.Locale;

/**
 * A number that has to be large or small enough for the study to show what it is there to show.
 *
 * @param part of the study: function, cost, gradient, routed or training
 * @param about the case and the quantity
 * @param measured the number
 * @param relation to the limit
 * @param limit what it is compared with
 */
public record Claim(String part, String about, double measured, Relation relation, double limit) {
    /** How a number has to stand to its limit. */
    public enum Relation {
        /** Not above it. */
        AT_MOST("at most"),
        /** Not below it. */
        AT_LEAST("at least"),
        /** That number. */
        EXACTLY("exactly");

        private final String words;

        Relation(String words) {
            this.words = words;
        }

        /**
         * In words.
         *
         * @return at most, at least or exactly
         */
        public String words() {
            return words;
        }
    }

    /**
     * Whether it is so.
     *
     * @return false for a NaN
     */
    public boolean holds() {
        return switch (relation) {
            case AT_MOST -> measured <= limit;
            case AT_LEAST -> measured >= limit;
            case EXACTLY -> measured == limit;
        };
    }

    /**
     * What is expected.
     *
     * @return as "at most 1e-10"
     */
    public String expected() {
        return relation.words() + " " + text(limit);
    }

    /**
     * What was expected and what was measured, in one line.
     *
     * @return as an error says it
     */
    public String line() {
        return about + ": expected " + expected() + " but was " + text(measured);
    }

    /** A whole number as it is, others from 0.01 to 1000 with two places, all else with two digits and a power of ten. */
    static String text(double value) {
        double size = Math.abs(value);
        if (value == Math.rint(value) && size < 1e9) {
            return Long.toString((long) value);
        }
        return String.format(Locale.ROOT, size >= 0.01 && size < 1000 ? "%.2f" : "%.1e", value);
    }
}
