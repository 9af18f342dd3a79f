package org.moe4j.bench.layer;

/**
 * A limit on the rows of an expert, and what becomes of those beyond it, in the words and numbers of the preset files.
 *
 * @param rows how many an expert may take of a group
 * @param scope {@code batch}, {@code sequences}, or a number of tokens
 * @param order {@code position}, {@code weight}, {@code choice} or {@code batch-priority}
 * @param keptWeights {@code unchanged} or {@code unit-sum}
 * @param unserved {@code zero}, {@code passed} or {@code passed-weighted}
 */
record CapacityWords(Rows rows, String scope, String order, String keptWeights, String unserved) {
    /**
     * A number of rows.
     *
     * @param fixed the number itself; 0 when it follows from the rest
     * @param factor of the even share
     * @param share {@code assignments}: (T·K/E)·factor, {@code assignments-factor-first}: (T·K·factor)/E, or {@code tokens}:
     *     (T·factor)/E
     * @param rounding {@code up}, {@code down} or {@code half-even}
     * @param minimum at least so many; 0 for none
     * @param multipleOf what more than the minimum is rounded up to
     * @param zeroRows {@code no-limit} or {@code no-rows}
     */
    record Rows(int fixed, double factor, String share, String rounding, int minimum, int multipleOf, String zeroRows) {
        static Rows of(double factor, String rounding) {
            return new Rows(0, factor, "assignments", rounding, 0, 1, "no-limit");
        }
    }

    /** Over the batch, by position, without any change of weights. */
    static CapacityWords of(Rows rows) {
        return new CapacityWords(rows, "batch", "position", "unchanged", "zero");
    }
}
