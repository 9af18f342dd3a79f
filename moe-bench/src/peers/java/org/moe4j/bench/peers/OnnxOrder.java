package org.moe4j.bench.peers;

/**
 * Where the operator expects the rows of gate and up in its one matrix; that has changed between versions, so it is found out by trying.
 *
 * @param fusion the attribute {@code swiglu_fusion}: 1 for rows in turn, 2 for one block after the other
 * @param gateFirst whether gate comes before up
 */
record OnnxOrder(int fusion, boolean gateFirst) {
    static final int IN_TURN = 1;
    static final int IN_BLOCKS = 2;

    /** Row of the fused matrix in which a row of gate stands. */
    int gateRow(int row, int intermediateSize) {
        return place(row, intermediateSize, gateFirst);
    }

    /** Row of the fused matrix in which a row of up stands. */
    int upRow(int row, int intermediateSize) {
        return place(row, intermediateSize, !gateFirst);
    }

    private int place(int row, int intermediateSize, boolean first) {
        if (fusion == IN_TURN) {
            return 2 * row + (first ? 0 : 1);
        }
        return row + (first ? 0 : intermediateSize);
    }

    @Override
    public String toString() {
        return (gateFirst ? "gate and up" : "up and gate") + (fusion == IN_TURN ? " in turn" : " in blocks");
    }
}
