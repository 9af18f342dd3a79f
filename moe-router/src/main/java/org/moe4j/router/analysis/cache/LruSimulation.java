package org.moe4j.router.analysis.cache;

import java.util.Arrays;
import org.moe4j.core.internal.Require;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingObserver;

/**
 * A simulated cache that evicts the least recently used expert, for every number of slots in one pass. The experts are requested one
 * after another, token by token and slot by slot; a token with more experts than slots evicts its own.
 *
 * <p>The depth of a request is the number of other experts that were used since its own was used last. A cache of C slots hits where the
 * depth is below C: Mattson et al., Evaluation techniques for storage hierarchies (IBM Systems Journal 9, 1970). A request takes time in proportion to E.
 */
public final class LruSimulation implements RoutingObserver {
    private final int[] depth; // of each expert; E for one that was never used
    private final long[] requestsByDepth;

    /**
     * Empty caches.
     *
     * @param experts E, at least 1
     * @throws IllegalArgumentException for {@code experts} below 1
     */
    public LruSimulation(int experts) {
        depth = new int[Require.atLeast("experts", experts, 1)];
        Arrays.fill(depth, experts);
        requestsByDepth = new long[experts + 1];
    }

    @Override
    public void add(ChosenExperts block) {
        Require.count("block", block.experts(), depth.length, "experts (of the simulation)");
        for (int slot = 0, slots = block.slots(); slot < slots; slot++) {
            request(block.expert(slot));
        }
    }

    private void request(int expert) {
        int own = depth[expert];
        for (int e = 0; e < depth.length; e++) {
            depth[e] +=
                    (depth[e] - own) >>> 31; // 1 where it was used since: without branches, for many experts at once
        }
        depth[expert] = 0;
        requestsByDepth[own]++;
    }

    /**
     * What the caches did so far.
     *
     * @return later tokens do not change it
     */
    public SimulatedHits result() {
        return SimulatedHits.ofDepths(requestsByDepth);
    }
}
