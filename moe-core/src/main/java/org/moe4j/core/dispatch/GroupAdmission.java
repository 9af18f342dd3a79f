package org.moe4j.core.dispatch;

import java.util.Arrays;

/** Marks what is kept of one group after the other; its arrays are used again for each. */
final class GroupAdmission {
    private final Routing routing;
    private final DropOrder order;
    private final boolean[] kept; // one per slot of the routing
    private int[] tokens = new int[0]; // of the assignments of the group, sorted by expert, then by token
    private int[] ranks = new int[0];
    private double[] priorities = new double[0];

    GroupAdmission(Routing routing, DropOrder order, boolean[] kept) {
        this.routing = routing;
        this.order = order;
        this.kept = kept;
    }

    void admit(int fromToken, int toToken, int rows) {
        int firstSlot = routing.slotsBefore(fromToken);
        int endSlot = routing.slotsBefore(toToken);
        int[] starts = starts(fromToken, toToken);
        int most = 0;
        for (int e = 0; e + 1 < starts.length; e++) {
            most = Math.max(most, starts[e + 1] - starts[e]);
        }
        Arrays.fill(kept, firstSlot, endSlot, most <= rows);
        if (most > rows) {
            sort(fromToken, toToken, starts, endSlot - firstSlot);
            for (int e = 0; e + 1 < starts.length; e++) {
                keepFirst(starts[e], starts[e + 1], rows);
            }
        }
    }

    /** Where the assignments of each expert begin when they are sorted by expert. */
    private int[] starts(int fromToken, int toToken) {
        int[] starts = new int[routing.experts() + 1];
        for (int t = fromToken; t < toToken; t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                starts[routing.expert(t, rank) + 1]++;
            }
        }
        for (int e = 0; e + 1 < starts.length; e++) {
            starts[e + 1] += starts[e];
        }
        return starts;
    }

    private void sort(int fromToken, int toToken, int[] starts, int slots) {
        if (tokens.length < slots) {
            tokens = new int[slots];
            ranks = new int[slots];
            priorities = new double[slots];
        }
        int[] next = starts.clone();
        for (int t = fromToken; t < toToken; t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                int place = next[routing.expert(t, rank)]++;
                tokens[place] = t;
                ranks[place] = rank;
                priorities[place] = order.priority(routing, t, rank);
            }
        }
    }

    /** Keeps the first of one expert: all choices that fit whole, and the best of the first that does not. */
    private void keepFirst(int from, int to, int rows) {
        if (to - from <= rows) {
            for (int i = from; i < to; i++) {
                kept[routing.slot(tokens[i], ranks[i])] = true;
            }
            return;
        }
        int cut = 0; // the first choice that does not fit whole
        int room = rows; // what is left for it
        for (int here = count(from, to, cut); here <= room; here = count(from, to, cut)) {
            room -= here;
            cut++;
        }
        double[] rivals = new double[count(from, to, cut)];
        int n = 0;
        for (int i = from; i < to; i++) {
            if (order.choice(ranks[i]) == cut) {
                rivals[n++] = priorities[i];
            }
        }
        Arrays.sort(rivals);
        double last = room == 0 ? Double.POSITIVE_INFINITY : rivals[n - room];
        int ties = room;
        for (int i = n - 1; i >= 0 && rivals[i] > last; i--) {
            ties--;
        }
        for (int i = from; i < to; i++) {
            int choice = order.choice(ranks[i]);
            boolean tie = choice == cut && priorities[i] == last && ties-- > 0;
            boolean better = choice < cut || (choice == cut && priorities[i] > last);
            kept[routing.slot(tokens[i], ranks[i])] = better || tie;
        }
    }

    private int count(int from, int to, int choice) {
        int count = 0;
        for (int i = from; i < to; i++) {
            count += order.choice(ranks[i]) == choice ? 1 : 0;
        }
        return count;
    }
}
