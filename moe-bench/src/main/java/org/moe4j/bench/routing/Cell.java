package org.moe4j.bench.routing;

/** What stands in one place of a {@link Sheet}, before it is rounded to be shown. */
public sealed interface Cell {
    /**
     * A whole number.
     *
     * @param value any
     */
    record Count(long value) implements Cell {}

    /**
     * A measured number.
     *
     * @param value finite
     */
    record Real(double value) implements Cell {
        /**
         * Refuses what JSON has no number for.
         *
         * @param value finite
         */
        public Real {
            if (!Double.isFinite(value)) {
                throw new ArithmeticException("value: expected a finite number but was " + value);
            }
        }
    }

    /**
     * Words; names of files and layers are others' text.
     *
     * @param value one line
     */
    record Text(String value) implements Cell {}

    /** No value, as of a ratio to zero. */
    record Nothing() implements Cell {}

    /**
     * A whole number.
     *
     * @param value any
     * @return a cell
     */
    static Cell of(long value) {
        return new Count(value);
    }

    /**
     * A measured number.
     *
     * @param value finite
     * @return a cell
     */
    static Cell of(double value) {
        return new Real(value);
    }

    /**
     * Words.
     *
     * @param value one line
     * @return a cell
     */
    static Cell of(String value) {
        return new Text(value);
    }

    /**
     * No value.
     *
     * @return a cell
     */
    static Cell nothing() {
        return new Nothing();
    }
}
