package org.moe4j.core.backend;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.moe4j.core.backend.Backends.Precision;

/**
 * The backends there are.
 *
 * @param providers first those that may be the best, by rank
 */
record KnownBackends(List<Backends.Provider> providers) {
    static KnownBackends of(Stream<Backends.Provider> providers) {
        return new KnownBackends(providers
                .sorted(Comparator.comparingInt(
                                (Backends.Provider one) -> one.rank().orElse(Integer.MAX_VALUE))
                        .thenComparing(Backends.Provider::name))
                .toList());
    }

    /**
     * Which one is the best.
     *
     * @param provider the first one with nothing in its way
     * @param passed what was in the way of those before it
     * @param byName those that are had by their names only
     */
    record Choice(Optional<Backends.Provider> provider, List<String> passed, List<String> byName) {
        Backend create(Precision precision) {
            return provider.orElseThrow(
                            () -> new IllegalStateException("backends: expected one that can run here but was none: "
                                    + String.join("; ", passed)
                                    + byName.stream()
                                            .map(name -> "; slow, but without needs: Backends.named(\"" + name
                                                    + "\", precision)")
                                            .collect(Collectors.joining())))
                    .create(precision);
        }

        @Override
        public String toString() {
            String chosen = provider.map(Backends.Provider::name).orElse("none");
            String details = provider.flatMap(Backends.Provider::details)
                    .map(what -> " (" + what + ")")
                    .orElse("");
            return "backend: " + chosen + details
                    + (passed.isEmpty() ? "" : ", as others cannot run here: " + String.join("; ", passed));
        }
    }

    Choice best() {
        List<String> passed = new ArrayList<>();
        List<String> byName = new ArrayList<>();
        Optional<Backends.Provider> best = Optional.empty();
        for (Backends.Provider provider : providers) {
            if (provider.rank().isEmpty()) {
                byName.add(provider.name());
            } else if (best.isEmpty()) {
                Optional<String> obstacle = provider.obstacle();
                obstacle.ifPresent(what -> passed.add(provider.name() + ": " + what));
                best = obstacle.isEmpty() ? Optional.of(provider) : best;
            }
        }
        return new Choice(best, List.copyOf(passed), List.copyOf(byName));
    }

    Backends.Provider named(String name) {
        Backends.Provider found = providers.stream()
                .filter(provider -> provider.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new NoSuchElementException("name: expected one of "
                        + providers.stream().map(Backends.Provider::name).toList() + " but was " + name));
        found.obstacle().ifPresent(what -> {
            throw new IllegalStateException(name + ": " + what);
        });
        return found;
    }
}
