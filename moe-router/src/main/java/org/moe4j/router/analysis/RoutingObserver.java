package org.moe4j.router.analysis;

/** Takes the tokens of one layer, block after block, in their order; how they are cut into blocks changes nothing. */
public interface RoutingObserver {
    /**
     * Takes the next tokens.
     *
     * @param block read before this returns, and not kept
     */
    void add(ChosenExperts block);
}
