package org.moe4j.router.analysis.cache;

import org.moe4j.core.internal.Require;

/** What simulated caches of one policy did, for every number of slots. */
public final class SimulatedHits {
    private final long requests;
    private final long[] hits; // of C = 1..E

    private SimulatedHits(long requests, long[] hits) {
        this.requests = requests;
        this.hits = hits;
    }

    /** By how often each depth was hit: a cache of C slots holds the depths below C. Depth E is that of the first requests. */
    static SimulatedHits ofDepths(long[] requestsByDepth) {
        long[] hits = new long[requestsByDepth.length - 1];
        long sum = 0;
        for (int depth = 0; depth < hits.length; depth++) {
            sum += requestsByDepth[depth];
            hits[depth] = sum;
        }
        return new SimulatedHits(sum + requestsByDepth[hits.length], hits);
    }

    /**
     * Number of experts.
     *
     * @return E: more slots than that change nothing
     */
    public int experts() {
        return hits.length;
    }

    /**
     * What a cache did.
     *
     * @param slots C, at least 1
     * @return its hits and misses
     * @throws IllegalArgumentException for {@code slots} below 1
     */
    public SimulatedCache with(int slots) {
        Require.atLeast("slots", slots, 1);
        return new SimulatedCache(
                slots, requests, hits[Math.min(slots, hits.length) - 1], requests - hits[hits.length - 1]);
    }
}
