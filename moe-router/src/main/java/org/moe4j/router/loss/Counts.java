package org.moe4j.router.loss;

import org.moe4j.core.dispatch.Routing;

/** What a balance loss counts of each token. Padding and capacity never change it. */
public enum Counts {
    /** The expert of rank 0, if there is one: with a selection bias the best by choice score. */
    FIRST_CHOICE,
    /** The experts that were really chosen, with bias and groups. */
    CHOSEN,
    /** The K experts that score best, of equal ones the lower index: no bias, no groups, so that it need not be what was chosen. */
    FRESH;

    /** Adds 1 for each counted expert of a token; {@code best} is room for K indices. */
    void add(Routing routing, int token, double[] scores, int[] best, double[] into) {
        if (this == FRESH) {
            best(scores, token * into.length, into.length, best, best.length);
            for (int rank = 0; rank < best.length; rank++) {
                into[best[rank]]++;
            }
            return;
        }
        int ranks = this == CHOSEN ? routing.count(token) : Math.min(1, routing.count(token));
        for (int rank = 0; rank < ranks; rank++) {
            into[routing.expert(token, rank)]++;
        }
    }

    /** Indices of the K largest of some numbers, best first, of equal ones the lower index. */
    static void best(double[] numbers, int from, int count, int[] best, int topK) {
        int filled = 0;
        for (int e = 0; e < count; e++) {
            double value = numbers[from + e];
            if (filled == topK && !(value > numbers[from + best[topK - 1]])) {
                continue;
            }
            int place = filled == topK ? topK - 1 : filled++;
            while (place > 0 && numbers[from + best[place - 1]] < value) {
                best[place] = best[place - 1];
                place--;
            }
            best[place] = e;
        }
    }
}
