package org.moe4j.router;

import java.util.Arrays;

/** The experts of each token, in the order of their ranks: those of token t stand from {@code offsets[t]} on. For one thread. */
final class ExpertLists {
    private final int[] offsets;
    private final int[] experts;

    ExpertLists(int[] offsets, int[] experts) {
        this.offsets = offsets;
        this.experts = experts;
    }

    /** K for every token. */
    static ExpertLists ofFixed(int topK, int[] experts) {
        int[] offsets = new int[experts.length / topK + 1];
        Arrays.setAll(offsets, t -> t * topK);
        return new ExpertLists(offsets, experts);
    }

    int tokens() {
        return offsets.length - 1;
    }

    int count(int token) {
        return offsets[token + 1] - offsets[token];
    }

    int[] offsets() {
        return offsets;
    }

    int[] experts() {
        return experts;
    }
}
