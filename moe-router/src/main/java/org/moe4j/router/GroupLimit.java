package org.moe4j.router;

import java.util.Arrays;

/** Closes the groups of a {@link ExpertSelection.GroupLimited}, for one thread, token after token. */
final class GroupLimit {
    private final int groups;
    private final int keptGroups;
    private final int size;
    private final int m;
    private final double fill;
    private final double[] sums;
    private final int[] better;
    private final double[] best;

    GroupLimit(ExpertSelection.GroupLimited rule, int experts, int topK) {
        groups = rule.groups();
        keptGroups = rule.keptGroups();
        size = experts / groups;
        m = rule.groupScore().best(topK, keptGroups);
        fill = rule.closedGroups() == ExpertSelection.ClosedGroups.ZERO ? 0 : Double.NEGATIVE_INFINITY;
        sums = new double[groups];
        better = new int[groups];
        best = new double[m];
    }

    /** Overwrites the choice scores of the experts of closed groups. */
    void close(double[] choiceScores) {
        close(choiceScores, 0);
    }

    /**
     * The same with choice scores of which each may be wrong by an error.
     *
     * @return false, with all scores as they were, when other numbers within the error could close other groups
     */
    boolean close(double[] choiceScores, double error) {
        if (keptGroups == groups) {
            return true;
        }
        for (int g = 0; g < groups; g++) {
            sums[g] = sumOfBest(choiceScores, g * size);
        }
        rank();
        if (error > 0 && !certain(error)) {
            return false;
        }
        for (int g = 0; g < groups; g++) {
            if (better[g] >= keptGroups) {
                Arrays.fill(choiceScores, g * size, (g + 1) * size, fill);
            }
        }
        return true;
    }

    /** Counts for each group those that come before it; of equal ones the lower comes first. */
    private void rank() {
        for (int g = 0; g < groups; g++) {
            double sum = sums[g];
            int before = g;
            for (int h = 0; h < g; h++) {
                int less = sums[h] < sum ? 1 : 0;
                better[h] += less;
                before -= less;
            }
            better[g] = before;
        }
    }

    private boolean certain(double error) {
        double worstKept = Double.POSITIVE_INFINITY;
        double bestClosed = Double.NEGATIVE_INFINITY;
        for (int g = 0; g < groups; g++) {
            if (better[g] < keptGroups) {
                worstKept = Math.min(worstKept, sums[g]);
            } else {
                bestClosed = Math.max(bestClosed, sums[g]);
            }
        }
        return worstKept - bestClosed > 2 * m * error;
    }

    /** Sum of the m largest choice scores of a group, from the largest on. */
    private double sumOfBest(double[] values, int from) {
        if (m > 2) {
            return sumOfMany(values, from);
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

    private double sumOfMany(double[] values, int from) {
        for (int i = 0; i < size; i++) {
            double value = values[from + i];
            if (i >= m && !(value > best[m - 1])) {
                continue;
            }
            int at = Math.min(i, m - 1);
            while (at > 0 && best[at - 1] < value) {
                best[at] = best[at - 1];
                at--;
            }
            best[at] = value;
        }
        double sum = 0;
        for (double value : best) {
            sum += value;
        }
        return sum;
    }
}
