package org.moe4j.router;

import java.util.Arrays;

/**
 * The K largest of E numbers in the library's order: larger first, of equal ones (−0 equals +0) the lower index first. For one thread,
 * token after token.
 *
 * <p>First all numbers that reach a level are listed; the level is learnt from the tokens before, so that little more is listed than
 * is selected. Then the listed are sorted. The selection does not depend on the level: if fewer than K reach it, a lower one
 * is taken, and at last none.
 */
final class TopK {
    private static final double LEARNING = 1.0 / 32;
    private static final double BELOW = 2; // mean deviations between the usual K-th largest and the level
    private static final int PLACE_BITS = 6;
    private static final int FEW = 1 << PLACE_BITS; // more are sorted by insertion
    private static final int STEPS = 510; // a key, with 1 more, has 15 bits
    private static final long HIGHEST_BITS = 0x8000800080008000L;
    private static final double LARGE = 1e300; // sums of what is below do not overflow

    private final int topK;
    private final Columns.OfDoubles doubles;
    private final Columns.OfFloats singles;
    private final int[] listed;
    private final double[] values;
    private final double[] best;
    private final int[] places;
    private final long[] keys;
    private final int[] sorted;
    private final int[] order;
    private double reached;
    private double usual = Double.NEGATIVE_INFINITY;
    private double deviation;

    TopK(int experts, int topK) {
        this.topK = topK;
        doubles = new Columns.OfDoubles(experts);
        singles = new Columns.OfFloats(experts);
        listed = new int[experts + 1];
        values = new double[experts];
        best = new double[Math.max(topK, FEW)];
        places = new int[FEW];
        keys = new long[FEW / 4];
        sorted = new int[FEW];
        order = new int[FEW];
    }

    /** Selects for one token: K indices, best first, from a place on. */
    void select(double[] scores, int[] into, int first) {
        int count = list(scores, level());
        for (int i = 0; i < count; i++) {
            values[i] = scores[listed[i]];
        }
        order(count, into, first);
        learn();
    }

    /** What most tokens have at least K numbers above; nothing is known before the first. */
    double level() {
        return usual - BELOW * deviation;
    }

    /**
     * Lists the indices of at least K numbers, ascending: all that reach the level or, when they are too few, a lower one.
     *
     * @param ranked E numbers, none of them NaN
     * @return how many are listed
     */
    int list(double[] ranked, double level) {
        doubles.fold(ranked);
        reached = level;
        int count = doubles.list(ranked, reached, listed);
        if (count < topK) {
            reached = lower(level);
            count = doubles.list(ranked, reached, listed);
        }
        return count < topK ? all() : count;
    }

    /** The same in single precision. */
    int list(float[] ranked, double level) {
        singles.fold(ranked);
        reached = (float) level;
        int count = singles.list(ranked, (float) reached, listed);
        if (count < topK) {
            reached = (float) lower(level);
            count = singles.list(ranked, (float) reached, listed);
        }
        return count < topK ? all() : count;
    }

    private double lower(double level) {
        return level - 2 * BELOW * deviation;
    }

    /** The level that was reached by all that are listed, and by no other. */
    double reached() {
        return reached;
    }

    private int all() {
        reached = Double.NEGATIVE_INFINITY;
        for (int e = 0; e < values.length; e++) {
            listed[e] = e;
        }
        return values.length;
    }

    /** The indices that {@link #list} found, from the first place on. */
    int[] listed() {
        return listed;
    }

    /** Room for their numbers. */
    double[] values() {
        return values;
    }

    /** Writes the K best of the listed, by their numbers in {@link #values}, from a place on. */
    void order(int count, int[] into, int first) {
        if (count > FEW || reached == Double.NEGATIVE_INFINITY) { // a step needs a level
            insert(count, into, first);
        } else {
            sort(count, into, first);
        }
    }

    /**
     * Sorts coarsely without branches, which could not be foretold, then exactly. Coarse: each number becomes a step between the level
     * and the largest, and step and place a key of 15 bits; the place of a key is the count of larger ones, four in a comparison: of
     * {@code 2¹⁵ + other − own} in 16 bits, the highest bit stays set when the other is not smaller.
     */
    private void sort(int count, int[] into, int first) {
        double max = values[0];
        for (int i = 1; i < count; i++) {
            max = Math.max(max, values[i]);
        }
        double scale = max > reached ? STEPS / (max - reached) : 0;
        int groups = (count + 3) / 4;
        Arrays.fill(keys, 0, groups, 0);
        for (int i = 0; i < count; i++) {
            int step = Math.max(0, Math.min(STEPS, (int) ((values[i] - reached) * scale)));
            int key = (step << PLACE_BITS) + FEW - i;
            places[i] = key;
            keys[i >> 2] |= (long) key << ((i & 3) << 4);
        }
        for (int i = 0; i < count; i++) {
            long own = places[i] * 0x0001000100010001L;
            int notSmaller = 0;
            for (int g = 0; g < groups; g++) {
                notSmaller += Long.bitCount((keys[g] | HIGHEST_BITS) - own & HIGHEST_BITS);
            }
            sorted[notSmaller - 1] = i;
        }
        for (int i = 0; i < count; i++) {
            double value = values[sorted[i]];
            int expert = listed[sorted[i]];
            int place = i;
            while (place > 0 && best[place - 1] < value) { // hardly ever
                best[place] = best[place - 1];
                order[place] = order[place - 1];
                place--;
            }
            best[place] = value;
            order[place] = expert;
        }
        System.arraycopy(order, 0, into, first, topK);
    }

    private void insert(int count, int[] into, int first) {
        for (int i = 0; i < count; i++) {
            double value = values[i];
            int place = i;
            if (i >= topK) {
                if (!(value > best[topK - 1])) {
                    continue;
                }
                place = topK - 1;
            }
            while (place > 0 && best[place - 1] < value) {
                best[place] = best[place - 1];
                into[first + place] = into[first + place - 1];
                place--;
            }
            best[place] = value;
            into[first + place] = listed[i];
        }
    }

    /** The K-th largest number. */
    double last() {
        return best[topK - 1];
    }

    /** Takes the K-th largest into account for the level of the next token. */
    void learn() {
        double away = last() - usual;
        if (Math.abs(away) <= LARGE) {
            usual += away * LEARNING;
            deviation += (Math.abs(away) - deviation) * LEARNING;
        } else { // the first token, or numbers that are infinite or nearly so
            usual = last();
            deviation = 0;
        }
    }
}
