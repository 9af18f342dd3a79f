package org.moe4j.router.analysis.cache;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingSource;

/**
 * The optimum of a cache that knows the future: it evicts the expert whose next use is farthest away, and no policy has more hits. Every
 * expert that is requested has to be there, so that a miss always loads. It needs the whole trace and reads it twice: no cache could
 * work so. Requests are as in {@link LruSimulation}.
 *
 * <p>All numbers of slots in one pass, by the stack of the policy: an expert sinks as far as others with an earlier next use push it (L. A.
 * Belady, A study of replacement algorithms, IBM Systems Journal 5, 1966; Mattson et al., volume 9, 1970).
 *
 * <p>Memory grows with √T·E, from T = 16.8 million tokens on; before that with T/4096·E numbers, as 1.2 MB for 10 million tokens and 64 experts.
 */
public final class BeladySimulation {
    private static final long NEVER = Long.MAX_VALUE;

    private final RoutingSource source;
    private final int block;
    private final long[] stack; // next uses of the experts used so far, of which the first C are in a cache of C slots
    private final long[] requestsByDepth;
    private int size;
    private long now;

    private BeladySimulation(RoutingSource source) {
        this.source = source;
        block = Math.max(RoutingSource.BLOCK, (int) Math.sqrt((double) source.tokens()));
        stack = new long[source.experts()];
        requestsByDepth = new long[source.experts() + 1];
    }

    /**
     * Simulates the caches.
     *
     * @param source the trace
     * @return what they did
     */
    public static SimulatedHits of(RoutingSource source) {
        return new BeladySimulation(source).run();
    }

    private SimulatedHits run() {
        List<long[]> nextFrom = firstUses();
        long[] next = new long[0];
        int index = 0;
        for (long from = 0; from < source.tokens(); from += block) {
            ChosenExperts chosen = block(from);
            if (next.length < chosen.slots()) {
                next = new long[chosen.slots()];
            }
            nextUses(chosen, nextFrom.get(++index), next);
            for (int slot = 0, slots = chosen.slots(); slot < slots; slot++) {
                requestsByDepth[request(next[slot])]++;
                now++;
            }
        }
        return SimulatedHits.ofDepths(requestsByDepth);
    }

    private ChosenExperts block(long from) {
        return source.block(from, (int) Math.min(block, source.tokens() - from));
    }

    /** For the start of every block, and for the end of the trace, when each expert is used next. */
    private List<long[]> firstUses() {
        List<long[]> firstUses = new ArrayList<>();
        long request = 0;
        for (long from = 0; from < source.tokens(); from += block) {
            ChosenExperts chosen = block(from);
            long[] first = never();
            for (int slot = chosen.slots() - 1; slot >= 0; slot--) {
                first[chosen.expert(slot)] = request + slot;
            }
            request += chosen.slots();
            firstUses.add(first);
        }
        firstUses.add(never());
        for (int b = firstUses.size() - 2; b >= 0; b--) {
            long[] later = firstUses.get(b + 1);
            long[] own = firstUses.get(b);
            for (int e = 0; e < own.length; e++) {
                own[e] = Math.min(own[e], later[e]);
            }
        }
        return firstUses;
    }

    private long[] never() {
        long[] uses = new long[source.experts()];
        Arrays.fill(uses, NEVER);
        return uses;
    }

    /** When the expert of each slot of a block is used again. */
    private void nextUses(ChosenExperts chosen, long[] after, long[] into) {
        long[] next = after.clone();
        for (int slot = chosen.slots() - 1; slot >= 0; slot--) {
            int expert = chosen.expert(slot);
            into[slot] = next[expert];
            next[expert] = now + slot;
        }
    }

    /** The depth of the expert requested now, which is the one whose next use is now: it comes to the top, and others sink to where it was. */
    private int request(long nextUse) {
        if (size == 0) {
            stack[size++] = nextUse;
            return stack.length;
        }
        long sinking = stack[0];
        stack[0] = nextUse; // stays on the top, whenever it is
        if (sinking == now) {
            return 0;
        }
        for (int depth = 1; depth < size; depth++) {
            long here = stack[depth];
            if (here == now) {
                stack[depth] = sinking;
                return depth;
            }
            stack[depth] = Math.min(here, sinking);
            sinking = Math.max(here, sinking);
        }
        stack[size++] = sinking;
        return stack.length;
    }
}
