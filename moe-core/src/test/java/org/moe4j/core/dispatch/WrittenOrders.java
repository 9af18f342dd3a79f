package org.moe4j.core.dispatch;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Who is kept when C is given, each way written out; a slot is a token and a rank. */
final class WrittenOrders {
    private WrittenOrders() {}

    /** Positions in the buffers of experts, counted over slots in the order given: kept where below C. */
    static void byPosition(Chosen chosen, List<int[]> slots, int c, boolean[][] kept) {
        int[] position = new int[chosen.experts()];
        for (int[] slot : slots) {
            kept[slot[0]][slot[1]] = position[chosen.expert()[slot[0]][slot[1]]]++ < c;
        }
    }

    static List<int[]> tokenByToken(Chosen chosen, int from, int to) {
        List<int[]> slots = new ArrayList<>();
        for (int t = from; t < to; t++) {
            for (int rank = 0; rank < chosen.expert()[t].length; rank++) {
                slots.add(new int[] {t, rank});
            }
        }
        return slots;
    }

    /** All first choices of the tokens in their order, then all second ones, as a cumulative sum over (K, S) counts them. */
    static List<int[]> choiceByChoice(Chosen chosen, List<Integer> tokens) {
        List<int[]> slots = new ArrayList<>();
        for (int rank = 0; rank < chosen.experts(); rank++) {
            for (int t : tokens) {
                if (rank < chosen.expert()[t].length) {
                    slots.add(new int[] {t, rank});
                }
            }
        }
        return slots;
    }

    static List<Integer> inOrder(int from, int to) {
        List<Integer> tokens = new ArrayList<>();
        for (int t = from; t < to; t++) {
            tokens.add(t);
        }
        return tokens;
    }

    static List<Integer> byLargestWeight(Chosen chosen, int from, int to) {
        List<Integer> tokens = inOrder(from, to);
        tokens.sort(Comparator.comparingDouble(t -> {
            double largest = -1;
            for (double weight : chosen.weight()[t]) {
                largest = Math.max(largest, weight);
            }
            return -largest;
        }));
        return tokens;
    }

    /** Per expert the C largest weights of its column. */
    static void byColumn(Chosen chosen, int from, int to, int c, boolean[][] kept) {
        for (int e = 0; e < chosen.experts(); e++) {
            int expert = e;
            List<int[]> column = new ArrayList<>(tokenByToken(chosen, from, to));
            column.removeIf(slot -> chosen.expert()[slot[0]][slot[1]] != expert);
            column.sort(Comparator.comparingDouble(slot -> -chosen.weight()[slot[0]][slot[1]]));
            for (int i = 0; i < column.size(); i++) {
                kept[column.get(i)[0]][column.get(i)[1]] = i < c;
            }
        }
    }

    static int largestCount(Chosen chosen, int from, int to) {
        int[] counts = new int[chosen.experts()];
        int largest = 0;
        for (int t = from; t < to; t++) {
            for (int expert : chosen.expert()[t]) {
                largest = Math.max(largest, ++counts[expert]);
            }
        }
        return largest;
    }
}
