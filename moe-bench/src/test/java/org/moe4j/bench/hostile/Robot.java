package org.moe4j.bench.hostile;

import java.io.IOException;
import java.lang.reflect.Executable;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.nd4j.Nd4jBackend;

/**
 * Calls everything public, on one backend: first with arguments that may well be right, until a call succeeds, then with one or two of
 * them replaced by hostile ones, in the end after all has been closed. Place 0 of a call is its receiver.
 */
final class Robot {
    private static final int ROUNDS = 3;
    private static final int TRIES = 40;
    private static final int WANTED = 4; // values of what is constructed, as one alone may fit nothing
    private static final int MOST_TRIES = 1500;

    private final Backend backend;
    private final Findings findings;
    private final Caller caller;
    private final Shelf shelf;
    private final Shelf odd = new Shelf(20, Optional.empty());
    private final Draw draw;
    private final Hostile hostile;
    private final List<Executable> all = new ArrayList<>(PublicApi.executables());
    private final Map<Executable, Object[]> routes = new LinkedHashMap<>();

    /**
     * Makes everything to call with.
     *
     * @param backend of all matrices
     * @param other another one
     * @param sandbox an empty folder
     * @param random of all draws
     * @param findings of what comes of the calls
     * @throws IOException when the folder cannot be written to
     */
    Robot(Backend backend, Backend other, Path sandbox, SplittableRandom random, Findings findings) throws IOException {
        this.backend = backend;
        this.findings = findings;
        this.caller = new Caller(findings);
        this.shelf = new Shelf(12, Optional.of(backend));
        Path right = Files.createDirectories(sandbox.resolve("right"));
        Exemplars.put(shelf, backend, right);
        Shelf closed = new Shelf(1, Optional.of(backend));
        Exemplars.put(closed, backend, Files.createDirectories(sandbox.resolve("closed")));
        closeAll(closed, random);
        closed.all().stream().filter(AutoCloseable.class::isInstance).forEach(odd::add);
        Hostile.matrices(backend, other).forEach(odd::add);
        all.removeIf(executable -> executable.getName().equals("close"));
        draw = new Draw(shelf, random, new Words(right));
        hostile = new Hostile(odd, Hostile.files(sandbox, right.resolve("olmoe").resolve("model.safetensors")));
    }

    /** Until each call that can succeed has done so: what it returns may be what the next one needs. */
    void learn() {
        for (int round = 0; round < ROUNDS; round++) {
            all.forEach(executable -> learn(executable, TRIES));
        }
        findings.reached(routes.keySet());
    }

    /** Tries harder what no robot has called with success so far. */
    void persist() {
        all.stream()
                .filter(executable -> !findings.hasReached(executable) && !Unreached.isKnown(executable.toString()))
                .filter(executable -> !isOfAnotherBackend(executable))
                .forEach(executable -> learn(executable, MOST_TRIES));
        findings.reached(routes.keySet());
    }

    private boolean isOfAnotherBackend(Executable executable) {
        Class<?> type = executable.getDeclaringClass();
        return Backend.class.isAssignableFrom(type) && !type.isInstance(backend);
    }

    private void learn(Executable executable, int tries) {
        int wanted = hasReceiver(executable) ? 1 : WANTED;
        for (int i = 0; i < tries && wanted > 0 && !(i == 0 && routes.containsKey(executable)); i++) {
            Optional<Object[]> places = right(executable);
            if (places.isPresent()) {
                Caller.Outcome outcome = caller.call(executable, places.get());
                if (outcome.returned()) {
                    routes.put(executable, places.get());
                    shelf.add(outcome.value());
                    wanted--;
                }
            }
        }
    }

    /** So many hostile calls, of each executable as many as of any other. */
    void attack(int calls) {
        for (int i = 0; i < calls; i++) {
            Executable executable = all.get(i % all.size());
            Optional<Object[]> right =
                    Optional.ofNullable(routes.get(executable)).or(() -> right(executable));
            if (right.isPresent()) {
                Object[] places = right.get().clone();
                int changes = draw.random().nextInt(4) == 0 ? 2 : 1;
                for (int change = 0; change < changes; change++) {
                    spoil(executable, places);
                }
                if (isBeyondMemory(places)) {
                    continue;
                }
                Caller.Outcome outcome = caller.call(executable, places);
                if (outcome.returned() && !Verdict.holdsNull(places)) {
                    odd.add(outcome.value());
                }
            }
        }
    }

    /** What was right is closed, twice and in any order; then so many calls with it. */
    void close(int calls) {
        closeAll(shelf, draw.random());
        closeAll(shelf, draw.random());
        List<Executable> known = new ArrayList<>(routes.keySet());
        for (int i = 0; i < calls; i++) {
            Executable executable = known.get(i % known.size());
            caller.call(executable, routes.get(executable));
        }
        closeAll(odd, draw.random());
    }

    private void closeAll(Shelf of, SplittableRandom random) {
        List<Object> values = new ArrayList<>(of.all());
        for (int i = values.size() - 1; i > 0; i--) {
            Collections.swap(values, i, random.nextInt(i + 1));
        }
        for (Object value : values) {
            if (value instanceof AutoCloseable closable) {
                caller.close(closable);
            }
        }
    }

    private Optional<Object[]> right(Executable executable) {
        Type[] types = executable.getGenericParameterTypes();
        Object[] places = new Object[1 + types.length];
        if (hasReceiver(executable)) {
            Optional<Object> receiver = draw.value(executable.getDeclaringClass());
            if (receiver.isEmpty()) {
                return Optional.empty();
            }
            places[0] = receiver.get();
        }
        for (int i = 0; i < types.length; i++) {
            Optional<Object> value = draw.value(types[i]);
            if (value.isEmpty()) {
                return Optional.empty();
            }
            boolean isWritten = types[i] == Path.class && executable.getName().matches("write.*|save");
            places[1 + i] = isWritten ? draw.freshPath() : value.get(); // what is there may be what another call reads
        }
        return Optional.of(places);
    }

    private void spoil(Executable executable, Object[] places) {
        Type[] types = executable.getGenericParameterTypes();
        int place = draw.random().nextInt(places.length);
        if (place > 0) {
            List<Object> values = hostile.of(types[place - 1], places[place]);
            if (!values.isEmpty()) {
                places[place] = draw.oneOf(values);
            }
        } else if (hasReceiver(executable)) {
            List<Object> values = odd.of(executable.getDeclaringClass());
            if (!values.isEmpty()) {
                places[0] = draw.oneOf(values);
            }
        }
    }

    /** ND4J would take that much, page by page, from the machine. */
    private static boolean isBeyondMemory(Object[] places) {
        List<Object> all = Arrays.asList(places);
        return all.stream()
                        .anyMatch(place ->
                                place instanceof Nd4jBackend && place.toString().contains("device"))
                && all.stream().anyMatch(place -> place instanceof Integer number && number > 1 << 16);
    }

    static boolean hasReceiver(Executable executable) {
        return executable instanceof java.lang.reflect.Method && !Modifier.isStatic(executable.getModifiers());
    }
}
