package org.moe4j.core.layer;

import java.util.Objects;

/** Which rows of a batch are real and which are padding. */
public final class RowMask {
    private final boolean[] valid;
    private final int count;

    private RowMask(boolean[] valid) {
        this.valid = valid;
        int set = 0;
        for (boolean row : valid) {
            set += row ? 1 : 0;
        }
        count = set;
    }

    /**
     * A mask.
     *
     * @param valid true for a real row, false for padding; copied
     * @return the mask
     */
    public static RowMask of(boolean[] valid) {
        return new RowMask(valid.clone());
    }

    /**
     * Whether a row is real.
     *
     * @param row 0 ≤ row &lt; {@link #rows()}
     * @return false for padding
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public boolean valid(int row) {
        return valid[Objects.checkIndex(row, valid.length)];
    }

    /**
     * Number of real rows.
     *
     * @return at most {@link #rows()}
     */
    public int count() {
        return count;
    }

    /**
     * Number of rows the mask speaks of.
     *
     * @return T
     */
    public int rows() {
        return valid.length;
    }
}
