package org.moe4j.router;

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
    private static final int FEW = 48; // more are sorted by insertion
    private static final double LARGE = 1e300; // sums of what is below do not overflow

    private final int topK;
    private final double[] halves; // maxima of e and e + 2q
    private final double[] quarters; // maxima of e, e + q, e + 2q and e + 3q
    private final int[] columns;
    private final int[] listed;
    private final double[] values;
    private final double[] best;
    private final int[] places;
    private final int[] sorted;
    private double reached;
    private double usual = Double.NEGATIVE_INFINITY;
    private double deviation;

    TopK(int experts, int topK) {
        this.topK = topK;
        quarters = new double[experts / 4];
        halves = new double[2 * quarters.length];
        columns = new int[quarters.length + 1];
        listed = new int[experts + 1];
        values = new double[experts];
        best = new double[Math.max(topK, FEW)];
        places = new int[FEW];
        sorted = new int[FEW];
    }

    /** Selects for one token: K indices, best first, from a place on. */
    void select(double[] scores, int[] into, int first) {
        int count = list(scores, level());
        for (int i = 0; i < count; i++) {
            values[i] = scores[listed[i]] + 0.0; // −0 becomes 0
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
        fold(ranked, halves);
        fold(halves, quarters);
        reached = level;
        int count = reaching(ranked);
        if (count < topK) {
            reached = level - 2 * BELOW * deviation;
            count = reaching(ranked);
        }
        return count < topK ? all() : count;
    }

    /** The level that was reached by all that are listed, and by no other. */
    double reached() {
        return reached;
    }

    /** The larger of each number and its partner half the way further; vector instructions, as both are read without an offset. */
    private static void fold(double[] from, double[] into) {
        System.arraycopy(from, into.length, into, 0, into.length);
        for (int i = 0; i < into.length; i++) {
            into[i] = Math.max(into[i], from[i]);
        }
    }

    /** Without branches, which could not be foretold: columns of four by their maxima, then the members of these. */
    private int reaching(double[] ranked) {
        double level = reached == 0 ? -Double.MIN_VALUE : reached; // −0 less 0 would have the sign of a number below
        int hits = 0;
        for (int q = 0; q < quarters.length; q++) {
            columns[hits] = q;
            hits += reaches(quarters[q], level);
        }
        int size = quarters.length;
        int count = 0;
        for (int from = 0; from < 4 * size; from += size) {
            for (int i = 0; i < hits; i++) {
                int e = from + columns[i];
                listed[count] = e;
                count += reaches(ranked[e], level);
            }
        }
        for (int e = 4 * size; e < ranked.length; e++) {
            listed[count] = e;
            count += reaches(ranked[e], level);
        }
        return count;
    }

    /** 1 for a number that is not below the level, else 0: by the sign of the difference. */
    private static int reaches(double number, double level) {
        return 1 + (int) (Double.doubleToRawLongBits(number - level) >> 63);
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

    /** Writes the K best of the listed, by their numbers in {@link #values} without −0, from a place on. */
    void order(int count, int[] into, int first) {
        if (count > FEW
                || reached == Double.NEGATIVE_INFINITY) { // then there may be infinities, which have no difference
            insert(count, into, first);
        } else {
            count(count, into, first);
        }
    }

    /** Counts for each number those that come before it: without branches, which could not be foretold. */
    private void count(int count, int[] into, int first) {
        for (int i = 0; i < count; i++) {
            double value = values[i];
            int before = i;
            for (int j = 0; j < i; j++) {
                int less = 1 - reaches(values[j], value);
                places[j] += less;
                before -= less;
            }
            places[i] = before;
        }
        for (int i = 0; i < count; i++) {
            sorted[places[i]] = listed[i];
            best[places[i]] = values[i];
        }
        System.arraycopy(sorted, 0, into, first, topK);
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
