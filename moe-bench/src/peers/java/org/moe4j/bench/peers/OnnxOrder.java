package org.moe4j.bench.peers;

import org.moe4j.bench.peers.SampleLayer.Part;

/**
 * Where the operator expects the rows of gate and up in its one matrix; that has changed between versions, so it is found out by trying.
 *
 * @param fusion the attribute {@code swiglu_fusion}: 1 for rows in turn, 2 for one block after the other
 * @param gateFirst whether gate comes before up
 */
record OnnxOrder(int fusion, boolean gateFirst) {
    static final int IN_TURN = 1;
    static final int IN_BLOCKS = 2;

    /** The matrix (2F×D) of one expert. */
    float[] joined(SampleLayer layer, int expert) {
        int d = layer.size().hiddenSize();
        int f = layer.size().intermediateSize();
        float[] gate = layer.weights(Part.GATE, expert);
        float[] up = layer.weights(Part.UP, expert);
        float[] both = new float[gate.length + up.length];
        for (int row = 0; row < f; row++) {
            System.arraycopy(gate, row * d, both, place(row, f, gateFirst) * d, d);
            System.arraycopy(up, row * d, both, place(row, f, !gateFirst) * d, d);
        }
        return both;
    }

    /** The router's matrix (E×D) as (D×E). */
    static float[] turned(float[] router, int hiddenSize) {
        int experts = router.length / hiddenSize;
        float[] turned = new float[router.length];
        for (int i = 0; i < router.length; i++) {
            turned[i % hiddenSize * experts + i / hiddenSize] = router[i];
        }
        return turned;
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
