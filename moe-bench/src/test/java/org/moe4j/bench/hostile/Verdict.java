package org.moe4j.bench.hostile;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/** Whether what a call threw is one of the documented refusals, with a message in the grammar. */
final class Verdict {
    private static final Pattern GRAMMAR = Pattern.compile("[^\n]*?: expected .+ but .+", Pattern.DOTALL);
    /** The very class: what is thrown by an array or a list that was indexed unchecked is another one. */
    private static final Set<Class<?>> REFUSALS = Set.of(
            IllegalArgumentException.class,
            NoSuchElementException.class,
            IndexOutOfBoundsException.class,
            ArithmeticException.class,
            IllegalStateException.class,
            UnsupportedOperationException.class);

    private Verdict() {}

    /** Thrown by hostile callbacks, and let through as it is. */
    static final class Planted extends RuntimeException {
        private static final long serialVersionUID = 1;

        Planted() {
            super("planted");
        }
    }

    /**
     * What is wrong with a refusal.
     *
     * @param thrown by the call
     * @param nulls whether an argument was, or held, a null
     * @return empty when it is in order
     */
    static Optional<String> fault(Throwable thrown, boolean nulls) {
        if (thrown instanceof Planted || (nulls && thrown instanceof RuntimeException)) {
            return Optional.empty();
        }
        if (thrown
                instanceof
                OutOfMemoryError) { // of sizes that are legal, and more than there is; a size that overflows is
            // negative
            return Optional.empty();
        }
        if (thrown instanceof IOException || thrown instanceof UncheckedIOException) {
            return Optional.empty();
        }
        if (!REFUSALS.contains(thrown.getClass())) {
            return Optional.of("undocumented");
        }
        String message = String.valueOf(thrown.getMessage());
        if (thrown instanceof IndexOutOfBoundsException && message.contains("out of bounds for length")) {
            return Optional.empty();
        }
        return GRAMMAR.matcher(message).matches() ? Optional.empty() : Optional.of("not in the grammar");
    }

    static boolean holdsNull(Object value) {
        if (value == null) {
            return true;
        } else if (value instanceof Object[] array) {
            return java.util.Arrays.stream(array).anyMatch(Verdict::holdsNull);
        } else if (value instanceof Collection<?> several) {
            return several.stream().anyMatch(Verdict::holdsNull);
        } else if (value instanceof Map<?, ?> map) {
            return holdsNull(map.keySet()) || holdsNull(map.values());
        }
        return false;
    }
}
