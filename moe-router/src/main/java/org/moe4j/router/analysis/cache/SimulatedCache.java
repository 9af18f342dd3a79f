package org.moe4j.router.analysis.cache;

/**
 * What a simulated cache did.
 *
 * @param slots C, experts that it has room for
 * @param requests assignments of the trace
 * @param hits of them those whose expert was there
 * @param compulsoryMisses first requests of an expert, which no cache that starts empty can serve
 */
public record SimulatedCache(int slots, long requests, long hits, long compulsoryMisses) {
    /**
     * Requests whose expert had to be loaded.
     *
     * @return compulsory ones and those of experts that were evicted
     */
    public long misses() {
        return requests - hits;
    }

    /**
     * Hits as a share of the requests.
     *
     * @return in [0, 1); 0 without requests
     */
    public double hitRate() {
        return requests == 0 ? 0 : (double) hits / requests;
    }
}
