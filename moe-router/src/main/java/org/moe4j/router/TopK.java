package org.moe4j.router;

/** The K largest of E numbers in the library's order: larger first, of equal ones (−0 equals +0) the lower index first. */
final class TopK {
    private TopK() {}

    /** Numbers that {@link #select} needs as workspace: a hint from token to token, and the best so far. */
    static int room(int topK) {
        return 1 + topK;
    }

    /**
     * A scan that inserts into the sorted list of the best so far. The first number of the workspace is a guess of what the
     * K-th largest is not below, learnt from the tokens before: what is smaller is passed over, so that little more is
     * inserted than is selected. If fewer than K numbers reach it, a lower guess is tried, and at last none. The selection
     * does not depend on the guess.
     *
     * @param workspace {@link #room} numbers, to be used for one token after the other
     */
    static void select(double[] scores, int topK, int token, int[] into, double[] workspace) {
        int first = token * topK;
        double guess = workspace[0];
        int reached = scan(scores, guess, topK, first, into, workspace);
        if (reached > 0 && reached < topK) {
            guess -= (workspace[1] - guess) / 4;
            reached = scan(scores, guess, topK, first, into, workspace);
        }
        if (reached < topK) {
            scan(scores, Double.NEGATIVE_INFINITY, topK, first, into, workspace);
            guess = workspace[topK] - (workspace[1] - workspace[topK]) / 4;
        } else if (reached > topK + topK / 2 + 4) {
            guess += (workspace[topK] - guess) / 8;
        }
        workspace[0] = Double.isFinite(guess) ? guess : 0;
    }

    /** Number of scores not below the bound; the best of them are in the workspace from place 1 on, and their indices in {@code into}. */
    private static int scan(double[] scores, double bound, int topK, int first, int[] into, double[] workspace) {
        int reached = 0;
        for (int e = 0; e < scores.length; e++) {
            double score = scores[e];
            if (score < bound) {
                continue;
            }
            int place = reached++; // of the new one, counted from the best
            if (place >= topK) {
                if (!(score > workspace[topK])) {
                    continue;
                }
                place = topK - 1;
            }
            while (place > 0 && workspace[place] < score) {
                workspace[place + 1] = workspace[place];
                into[first + place] = into[first + place - 1];
                place--;
            }
            workspace[place + 1] = score;
            into[first + place] = e;
        }
        return reached;
    }

    /**
     * Sum of the m largest of a range, from the largest on; from {@code place} on, m numbers of the workspace are overwritten.
     */
    static double sumOfBest(double[] values, int from, int size, int m, double[] workspace, int place) {
        if (m > 2) {
            return sumOfMany(values, from, size, m, workspace, place);
        }
        double firstA = Double.NEGATIVE_INFINITY; // four interleaved parts, which need not wait for each other
        double secondA = firstA;
        double firstB = firstA;
        double secondB = firstA;
        double firstC = firstA;
        double secondC = firstA;
        double firstD = firstA;
        double secondD = firstA;
        int e = from;
        int end = from + size;
        for (; e + 4 <= end; e += 4) {
            secondA = Math.max(secondA, Math.min(firstA, values[e]));
            firstA = Math.max(firstA, values[e]);
            secondB = Math.max(secondB, Math.min(firstB, values[e + 1]));
            firstB = Math.max(firstB, values[e + 1]);
            secondC = Math.max(secondC, Math.min(firstC, values[e + 2]));
            firstC = Math.max(firstC, values[e + 2]);
            secondD = Math.max(secondD, Math.min(firstD, values[e + 3]));
            firstD = Math.max(firstD, values[e + 3]);
        }
        for (; e < end; e++) {
            secondA = Math.max(secondA, Math.min(firstA, values[e]));
            firstA = Math.max(firstA, values[e]);
        }
        double firstAB = Math.max(firstA, firstB);
        double secondAB = Math.max(Math.min(firstA, firstB), Math.max(secondA, secondB));
        double firstCD = Math.max(firstC, firstD);
        double secondCD = Math.max(Math.min(firstC, firstD), Math.max(secondC, secondD));
        double first = Math.max(firstAB, firstCD);
        double second = Math.max(Math.min(firstAB, firstCD), Math.max(secondAB, secondCD));
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
