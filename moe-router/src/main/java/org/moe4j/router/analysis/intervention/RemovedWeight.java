package org.moe4j.router.analysis.intervention;

/** What becomes of a token's weights when some of its assignments are removed. */
public enum RemovedWeight {
    /** It is lost: the others keep their weights. */
    LOST,
    /** The others are multiplied so that they add up to what all of them did. */
    GIVEN_TO_OTHERS
}
