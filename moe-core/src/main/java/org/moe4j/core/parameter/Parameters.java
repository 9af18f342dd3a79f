package org.moe4j.core.parameter;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Spelling;

/**
 * An ordered map from dotted names to matrices (a state dict); the gradient of a parameter set is one too.
 *
 * <p>The set itself is immutable. It owns the handles put into it: {@link #close()} closes them all.
 */
public final class Parameters implements AutoCloseable {
    private static final Parameters NONE = new Parameters(new LinkedHashMap<>());

    private static final int SHOWN = 12;

    private final Map<String, Matrix> values;

    private Parameters(Map<String, Matrix> values) {
        this.values = values;
    }

    /**
     * The empty set.
     *
     * @return a set without names
     */
    public static Parameters none() {
        return NONE;
    }

    /**
     * A set of one.
     *
     * @param name dotted name, not empty
     * @param value the matrix
     * @return the set
     * @throws IllegalArgumentException for a blank name
     */
    public static Parameters of(String name, Matrix value) {
        if (name.isBlank()) {
            throw Require.expected("name", "a dotted name", "\"" + name + "\"");
        }
        return of(Map.of(name, value));
    }

    /**
     * A set of many.
     *
     * @param values names and matrices, in order; copied
     * @return the set
     */
    public static Parameters of(Map<String, Matrix> values) {
        return new Parameters(new LinkedHashMap<>(values));
    }

    /**
     * Both sets, this one first.
     *
     * @param other a set that shares no name with this one
     * @return the union
     * @throws IllegalArgumentException when a name is in both
     */
    public Parameters and(Parameters other) {
        Map<String, Matrix> union = new LinkedHashMap<>(values);
        other.values.forEach((name, value) -> {
            if (union.put(name, value) != null) {
                throw Require.expected("other", "names that are not in this set yet", name);
            }
        });
        return new Parameters(union);
    }

    /**
     * Puts a prefix and a dot before each name: {@code gate} becomes {@code experts.3.gate}.
     *
     * @param prefix without the dot
     * @return the same matrices under longer names
     */
    public Parameters prefixed(String prefix) {
        Map<String, Matrix> renamed = new LinkedHashMap<>();
        values.forEach((name, value) -> renamed.put(prefix + "." + name, value));
        return new Parameters(renamed);
    }

    /**
     * The inverse of {@link #prefixed}: what stands below a prefix, without it.
     *
     * @param prefix without the dot
     * @return the matrices below the prefix under shorter names; empty when there are none
     */
    public Parameters under(String prefix) {
        Map<String, Matrix> renamed = new LinkedHashMap<>();
        values.forEach((name, value) -> {
            if (name.startsWith(prefix + ".")) {
                renamed.put(name.substring(prefix.length() + 1), value);
            }
        });
        return new Parameters(renamed);
    }

    /**
     * One matrix.
     *
     * @param name its dotted name
     * @return the matrix
     * @throws NoSuchElementException for an unknown name; the message lists the known ones
     */
    public Matrix get(String name) {
        Matrix value = values.get(name);
        if (value == null) {
            throw new NoSuchElementException("name: expected one of " + some(values.keySet()) + " but was " + name
                    + Spelling.closest(name, values.keySet())
                            .map(right -> "; did you mean " + right + "?")
                            .orElse(""));
        }
        return value;
    }

    /** The names, or the first of them when they are many, as those of hundreds of experts. */
    private static String some(Set<String> names) {
        if (names.size() <= SHOWN) {
            return names.toString();
        }
        return names.stream().limit(SHOWN).collect(Collectors.joining(", ", "[", "")) + ", … " + names.size()
                + " in all]";
    }

    /**
     * All names.
     *
     * @return in order, unmodifiable
     */
    public Set<String> names() {
        return Collections.unmodifiableSet(values.keySet());
    }

    /**
     * A set with the same names and other matrices.
     *
     * @param change maps name and matrix to the new matrix
     * @return the changed set
     */
    public Parameters map(BiFunction<String, Matrix, Matrix> change) {
        Map<String, Matrix> changed = new LinkedHashMap<>();
        values.forEach((name, value) -> changed.put(name, change.apply(name, value)));
        return new Parameters(changed);
    }

    /**
     * Adds some of the matrices into buffers of the same names: {@code into = into + this}.
     *
     * @param wanted names of this set
     * @param into a {@link org.moe4j.core.backend.Backend#buffer} of the same shape under each of these names
     */
    public void addInto(Set<String> wanted, Parameters into) {
        for (String name : wanted) {
            Matrix value = get(name);
            value.backend().accumulate(1.0, into.get(name), 0, value);
        }
    }

    /**
     * Refuses a set whose names are not exactly the given ones.
     *
     * @param expected the names there have to be
     * @return this set
     * @throws IllegalArgumentException naming what is missing or not known
     */
    public Parameters requireNames(Set<String> expected) {
        for (String name : expected) {
            if (!values.containsKey(name)) {
                throw Require.expected("parameters", "a matrix named " + name, "a set without it");
            }
        }
        for (String name : values.keySet()) {
            if (!expected.contains(name)) {
                throw Require.expected("parameters", "only the names " + some(expected), name);
            }
        }
        return this;
    }

    /** Closes all matrices of the set. */
    @Override
    public void close() {
        values.forEach((name, matrix) -> matrix.close()); // no view and no iterator: the Java heap may be full
    }

    @Override
    public String toString() {
        return "Parameters" + values;
    }
}
