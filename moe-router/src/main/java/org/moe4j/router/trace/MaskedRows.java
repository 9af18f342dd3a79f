package org.moe4j.router.trace;

/** What a recorder does with rows that the mask of a context says do not count. */
public enum MaskedRows {
    /** They are no tokens of the trace: for measures of a routing. */
    LEFT_OUT,
    /** They are recorded like others: for replay, which needs all rows of a call. */
    RECORDED
}
