package org.moe4j.core.dispatch;

/**
 * In which order the assignments of one expert in one group come; the first C are kept. The rows of an expert stand in the
 * order of tokens in any case: only what is kept depends on this.
 */
public enum DropOrder {
    /** Tokens in their order: MegaBlocks, OLMo-core, Switch; Megatron-Core's {@code position}. */
    POSITION(false),
    /** Largest weight first, equal weights in the order of tokens: Megatron-Core's {@code probs}, its default. */
    WEIGHT(false),
    /**
     * All first choices before all second ones and so on, each in the order of tokens: GShard, flaxformer, V-MoE. The choice
     * is the rank in the routing.
     */
    CHOICE(true),
    /**
     * By choice, and within one the tokens in the order of their largest weight, equal ones in their order: batch prioritised
     * routing of V-MoE (Riquelme et al. 2021, arXiv:2106.05974, section 4); an option of flaxformer. Both compare largest
     * probabilities; weights that were renormalised before give another order.
     */
    BATCH_PRIORITY(true);

    private final boolean choiceFirst;

    DropOrder(boolean choiceFirst) {
        this.choiceFirst = choiceFirst;
    }

    /** What is compared first, the smaller before the larger. */
    int choice(int rank) {
        return choiceFirst ? rank : 0;
    }

    /** What is compared then, the larger before the smaller; equal ones in the order of tokens. */
    double priority(Routing routing, int token, int rank) {
        return switch (this) {
            case POSITION, CHOICE -> 0;
            case WEIGHT -> routing.weight(token, rank);
            case BATCH_PRIORITY -> largestWeight(routing, token);
        };
    }

    private static double largestWeight(Routing routing, int token) {
        double largest = Double.NEGATIVE_INFINITY;
        for (int rank = 0; rank < routing.count(token); rank++) {
            largest = Math.max(largest, routing.weight(token, rank));
        }
        return largest;
    }
}
