package org.moe4j.router.analysis.cache;

import org.moe4j.core.internal.Require;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingObserver;

/**
 * A simulated cache that evicts the least frequently used expert, of equally frequent ones the least recently used. The experts are
 * requested one after another, token by token and slot by slot; a token with more experts than slots may evict its own.
 */
public final class LfuSimulation implements RoutingObserver {
    /** What becomes of the count of an expert that is evicted. */
    public enum Counts {
        /** It goes on from where it was when the expert comes back: also called perfect LFU. */
        KEPT,
        /** It starts again from 0: also called in-cache LFU. */
        FORGOTTEN
    }

    private final int slots;
    private final Counts counts;
    private final long[] used; // how often each expert was
    private final boolean[] seen;
    private final boolean[] held;
    private final int[]
            next; // of the experts held, in the order of their eviction; E stands before the first and after the last
    private final int[] previous;
    private int size;
    private long requests;
    private long hits;
    private long compulsory;

    /**
     * An empty cache.
     *
     * @param experts E, at least 1
     * @param slots C, at least 1
     * @param counts what becomes of the count of an expert that is evicted
     * @throws IllegalArgumentException for {@code experts} below 1 or {@code slots} below 1
     */
    public LfuSimulation(int experts, int slots, Counts counts) {
        Require.inRange("experts", experts, 1, Integer.MAX_VALUE - 9, "that an array can list");
        this.slots = Require.atLeast("slots", slots, 1);
        this.counts = counts;
        used = new long[experts + 1];
        used[experts] = Long.MAX_VALUE; // ends every search
        seen = new boolean[experts];
        held = new boolean[experts];
        next = new int[experts + 1];
        previous = new int[experts + 1];
        next[experts] = experts;
        previous[experts] = experts;
    }

    @Override
    public void add(ChosenExperts block) {
        Require.count("block", block.experts(), seen.length, "experts (of the simulation)");
        for (int slot = 0, end = block.slots(); slot < end; slot++) {
            request(block.expert(slot));
        }
        requests += block.slots();
    }

    private void request(int expert) {
        int from;
        if (held[expert]) {
            hits++;
            from = next[expert];
            unlink(expert);
        } else {
            load(expert);
            from = next[seen.length];
        }
        used[expert]++;
        insert(expert, from);
    }

    private void load(int expert) {
        if (size == slots) {
            int evicted = next[seen.length];
            unlink(evicted);
            held[evicted] = false;
            if (counts == Counts.FORGOTTEN) {
                used[evicted] = 0;
            }
        } else {
            size++;
        }
        held[expert] = true;
        if (!seen[expert]) {
            seen[expert] = true;
            compulsory++;
        }
    }

    private void unlink(int expert) {
        next[previous[expert]] = next[expert];
        previous[next[expert]] = previous[expert];
    }

    /** Behind all that were used no more often; few steps, as a count grows by one at a time. */
    private void insert(int expert, int from) {
        int behind = from;
        while (used[behind] <= used[expert]) {
            behind = next[behind];
        }
        int before = previous[behind];
        next[before] = expert;
        previous[expert] = before;
        next[expert] = behind;
        previous[behind] = expert;
    }

    /**
     * What the cache did so far.
     *
     * @return later tokens do not change it
     */
    public SimulatedCache result() {
        return new SimulatedCache(slots, requests, hits, compulsory);
    }
}
