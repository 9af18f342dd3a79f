package org.moe4j.router.analysis.device;

import java.util.Random;
import org.moe4j.core.dispatch.Routing;

/** Random routings. */
final class Traces {
    private Traces() {}

    /** Every token has K experts. */
    static Routing fixed(Random random, int tokens, int experts, int topK) {
        int[] chosen = new int[tokens * topK];
        for (int t = 0; t < tokens; t++) {
            System.arraycopy(draw(random, experts, topK), 0, chosen, t * topK, topK);
        }
        return Routing.of(experts, topK, chosen, new double[chosen.length]);
    }

    /** Tokens have 0 to K experts. */
    static Routing varying(Random random, int tokens, int experts, int topK) {
        int[] offsets = new int[tokens + 1];
        int[] chosen = new int[tokens * topK];
        for (int t = 0; t < tokens; t++) {
            int count = random.nextInt(topK + 1);
            System.arraycopy(draw(random, experts, count), 0, chosen, offsets[t], count);
            offsets[t + 1] = offsets[t] + count;
        }
        return Routing.ofVarying(
                experts, offsets, java.util.Arrays.copyOf(chosen, offsets[tokens]), new double[offsets[tokens]]);
    }

    private static int[] draw(Random random, int experts, int count) {
        return random.ints(0, experts).distinct().limit(count).toArray();
    }
}
