package org.moe4j.router.trace;

import java.util.Arrays;
import org.moe4j.core.dispatch.Routing;

/** Assignments of tokens that are still being added. For one thread at a time. */
final class RecordedSlots {
    private int[] offsets = new int[1];
    private int tokens;
    private int[] experts = new int[0];
    private double[] weights = new double[0];

    int tokens() {
        return tokens;
    }

    /** Adds a token of a routing. */
    void add(Routing routing, int token) {
        int slots = offsets[tokens];
        int count = routing.count(token);
        int needed = Math.addExact(slots, count);
        if (experts.length < needed) {
            experts = Arrays.copyOf(experts, grown(needed));
            weights = Arrays.copyOf(weights, experts.length);
        }
        if (offsets.length < tokens + 2) {
            offsets = Arrays.copyOf(offsets, grown(tokens + 2));
        }
        for (int rank = 0; rank < count; rank++) {
            experts[slots + rank] = routing.expert(token, rank);
            weights[slots + rank] = routing.weight(token, rank);
        }
        tokens++;
        offsets[tokens] = needed;
    }

    static int grown(int needed) {
        return (int) Math.min(Integer.MAX_VALUE - 8L, Math.max(64, needed * 3L / 2));
    }

    /** All tokens so far: of K experts each where all have K. */
    Routing routing(int numberOfExperts, int topK) {
        int slots = offsets[tokens];
        int[] chosen = Arrays.copyOf(experts, slots);
        double[] values = Arrays.copyOf(weights, slots);
        boolean fixed = topK > 0 && slots == (long) tokens * topK;
        for (int t = 0; fixed && t < tokens; t++) {
            fixed = offsets[t + 1] - offsets[t] == topK;
        }
        return fixed
                ? Routing.of(numberOfExperts, topK, chosen, values)
                : Routing.ofVarying(numberOfExperts, Arrays.copyOf(offsets, tokens + 1), chosen, values);
    }
}
