package org.moe4j.core.internal;

import java.util.IdentityHashMap;

/** Checks at public doors; every message reads {@code argument: expected X but was Y[; hint]}. */
public final class Require {
    private Require() {}

    /**
     * The exception for a bad argument.
     *
     * @param argument name of the argument
     * @param expected what was expected
     * @param was what was found
     * @return an exception to throw
     */
    public static IllegalArgumentException expected(String argument, String expected, Object was) {
        return new IllegalArgumentException(argument + ": expected " + expected + " but was " + was);
    }

    /**
     * The exception for a bad argument, with a way out.
     *
     * @param argument name of the argument
     * @param expected what was expected
     * @param was what was found
     * @param hint what to do
     * @return an exception to throw
     */
    public static IllegalArgumentException expected(String argument, String expected, Object was, String hint) {
        return new IllegalArgumentException(argument + ": expected " + expected + " but was " + was + "; " + hint);
    }

    /**
     * An integer in a closed range.
     *
     * @param argument name of the argument
     * @param value the value
     * @param low smallest legal value
     * @param high largest legal value
     * @param unit what is counted
     * @return the value
     */
    public static int inRange(String argument, int value, int low, int high, String unit) {
        if (value < low || value > high) {
            throw expected(argument, low + ".." + high + " (" + unit + ")", value);
        }
        return value;
    }

    /**
     * An integer of at least the given size.
     *
     * @param argument name of the argument
     * @param value the value
     * @param low smallest legal value
     * @return the value
     */
    public static int atLeast(String argument, int value, int low) {
        if (value < low) {
            throw expected(argument, "at least " + low, value);
        }
        return value;
    }

    /**
     * A finite number.
     *
     * @param argument name of the argument
     * @param value the value
     * @return the value
     */
    public static double finite(String argument, double value) {
        if (!Double.isFinite(value)) {
            throw expected(argument, "a finite number", value);
        }
        return value;
    }

    /**
     * A count that must equal another one.
     *
     * @param argument name of the argument
     * @param actual what was found
     * @param expected what was expected
     * @param unit what is counted, and why so many
     */
    public static void count(String argument, long actual, long expected, String unit) {
        if (actual != expected) {
            throw expected(argument, expected + " " + unit, actual);
        }
    }

    /**
     * A product that counts elements of an array.
     *
     * @param argument name of the argument
     * @param a at least 0
     * @param b at least 0
     * @return {@code a · b}
     */
    public static int product(String argument, int a, int b) {
        long product = (long) a * b;
        if (product > Integer.MAX_VALUE) {
            throw expected(argument, "a product below 2^31", a + " x " + b);
        }
        return (int) product;
    }

    /**
     * A product that counts.
     *
     * @param argument name of the argument
     * @param a at least 0
     * @param b at least 0
     * @return {@code a · b}
     */
    public static long longProduct(String argument, long a, long b) {
        if (Math.multiplyHigh(a, b) != 0 || a * b < 0) {
            throw expected(argument, "a product below 2^63", a + " x " + b);
        }
        return a * b;
    }

    /**
     * Number of elements of a matrix that must fit into one array.
     *
     * @param rows at least 0
     * @param columns at least 0
     * @return {@code rows · columns}
     */
    public static int elements(int rows, int columns) {
        atLeast("rows", rows, 0);
        atLeast("columns", columns, 0);
        long elements = (long) rows * columns;
        if (elements > Integer.MAX_VALUE - 8) {
            throw expected("rows x columns", "at most 2^31 - 9 elements", rows + " x " + columns);
        }
        return (int) elements;
    }

    /**
     * Number of elements of a matrix outside arrays: far more than any memory holds, but few enough that their bytes can
     * be counted.
     *
     * @param rows at least 0
     * @param columns at least 0
     * @return {@code rows · columns}
     */
    public static long manyElements(int rows, int columns) {
        atLeast("rows", rows, 0);
        atLeast("columns", columns, 0);
        long elements = (long) rows * columns;
        if (elements > 1L << 44) {
            throw expected("rows x columns", "at most 2^44 elements", rows + " x " + columns);
        }
        return elements;
    }

    /**
     * Refuses an object that stands under another name already, as a buffer that two results would be written to.
     *
     * @param <T> its type
     * @param argument name of the argument
     * @param given the object
     * @param taken names of the objects so far; the given one is added
     */
    public static <T> void once(String argument, T given, IdentityHashMap<T, String> taken) {
        String other = taken.put(given, argument);
        if (other != null) {
            throw expected(argument, "a buffer of its own", "that of " + other);
        }
    }
}
