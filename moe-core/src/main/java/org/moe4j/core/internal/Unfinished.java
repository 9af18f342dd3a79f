package org.moe4j.core.internal;

import java.util.ArrayDeque;
import java.util.Deque;

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

    /** Closes what was made, the last first. */
    @Override
    public void close() {
        while (!made.isEmpty()) {
            try {
                made.pop().close();
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException("close: expected no checked exception but was " + e, e);
            }
        }
    }
}
