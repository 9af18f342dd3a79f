package org.moe4j.router;

/** The K largest of E numbers in the library's order: larger first, of equal ones (−0 equals +0) the lower index first. */
final class TopK {
    static final int LANES = 32;
    private static final int WORTHWHILE = 4 * LANES; // experts from which on the bound pays

    private TopK() {}

    /**
     * One scan that inserts into the sorted list of the best so far. For many experts numbers below a lower bound of the K-th largest
     * are passed over, so that about as many are inserted as are selected; E·K steps at worst.
     *
     * @param workspace {@link #LANES} numbers, overwritten
     */
    static void select(double[] scores, int topK, int token, int[] into, double[] workspace) {
        boolean bounded = scores.length >= WORTHWHILE && topK <= LANES;
        double bound = bounded ? bound(scores, topK, workspace) : Double.NEGATIVE_INFINITY;
        int first = token * topK;
        int last = first + topK - 1;
        int filled = first;
        for (int e = 0; e < scores.length; e++) {
            double score = scores[e];
            if (score < bound) {
                continue;
            }
            if (filled > last) {
                if (!(score > scores[into[last]])) {
                    continue;
                }
                filled = last;
            }
            int place = filled++;
            while (place > first && scores[into[place - 1]] < score) {
                into[place] = into[place - 1];
                place--;
            }
            into[place] = e;
        }
    }

    /**
     * A number that at least K of the scores are not below: the K-th largest of the maxima of 32 interleaved parts.
     */
    private static double bound(double[] scores, int topK, double[] maxima) {
        System.arraycopy(scores, 0, maxima, 0, LANES);
        int end = scores.length - scores.length % LANES; // leaving out the rest makes the bound no higher
        for (int from = LANES; from < end; from += LANES) {
            for (int lane = 0; lane < LANES; lane++) {
                maxima[lane] = Math.max(maxima[lane], scores[from + lane]);
            }
        }
        double bound = Double.POSITIVE_INFINITY;
        for (int lane = 0; lane < LANES; lane++) {
            int larger = 0;
            for (int other = 0; other < LANES; other++) {
                larger += maxima[other] > maxima[lane] ? 1 : 0;
            }
            bound = larger < topK ? Math.min(bound, maxima[lane]) : bound;
        }
        return bound;
    }

    /**
     * Sum of the m largest of a range, from the largest on; from {@code place} on, m numbers of the workspace are overwritten.
     */
    static double sumOfBest(double[] values, int from, int size, int m, double[] workspace, int place) {
        if (m > 2) {
            return sumOfMany(values, from, size, m, workspace, place);
        }
        double first = Double.NEGATIVE_INFINITY;
        double second = Double.NEGATIVE_INFINITY;
        for (int e = from; e < from + size; e++) {
            double value = values[e];
            second = Math.max(second, Math.min(first, value));
            first = Math.max(first, value);
        }
        return m == 1 ? first : first + second;
    }

    private static double sumOfMany(double[] from, int start, int size, int m, double[] workspace, int place) {
        int last = place + m - 1;
        for (int i = 0; i < size; i++) {
            double value = from[start + i];
            if (i >= m && !(value > workspace[last])) {
                continue;
            }
            int at = Math.min(place + i, last);
            while (at > place && workspace[at - 1] < value) {
                workspace[at] = workspace[at - 1];
                at--;
            }
            workspace[at] = value;
        }
        double sum = 0;
        for (int i = place; i <= last; i++) {
            sum += workspace[i];
        }
        return sum;
    }
}
