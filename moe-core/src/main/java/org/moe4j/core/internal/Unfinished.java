package org.moe4j.core.internal;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/** What a stage has made so far: closed when the stage fails before it says {@link #keep()}. */
public final class Unfinished implements AutoCloseable {
    private final Deque<AutoCloseable> made = new ArrayDeque<>();

    /** Nothing made yet. */
    public Unfinished() {}

    /**
     * Takes note of something made.
     *
     * @param <T> its type
     * @param resource is closed with this
     * @return the same
     */
    public <T extends AutoCloseable> T add(T resource) {
        made.push(resource);
        return resource;
    }

    /** The stage is done, and what it made belongs to its result. */
    public void keep() {
        made.clear();
    }

    /** Closes what was made, the last first, and all of it: what the first refusal was is thrown in the end. */
    @Override
    public void close() {
        Optional<RuntimeException> refusal = Optional.empty();
        while (!made.isEmpty()) {
            try {
                made.pop().close();
            } catch (Exception e) {
                RuntimeException refused = e instanceof RuntimeException unchecked
                        ? unchecked
                        : new IllegalStateException("close: expected no checked exception but was " + e, e);
                refusal.ifPresent(first -> first.addSuppressed(refused));
                refusal = refusal.or(() -> Optional.of(refused));
            }
        }
        if (refusal.isPresent()) {
            throw refusal.get();
        }
    }
}
