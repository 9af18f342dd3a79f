package org.moe4j.core.vector.tile;

import jdk.incubator.vector.FloatVector;

/**
 * Products of rows with single-precision panels the other way, over their columns: what takes gradients of outputs to gradients of inputs. Lanes
 * are rows, so that the panels need not be turned; each sum is one chain of fused multiply-adds upwards over the columns.
 */
public final class FloatTransposedTiles {
    private static final int LANES = Lanes.FLOATS.length();
    private static final int PANEL = 2 * LANES;

    private FloatTransposedTiles() {}

    /**
     * {@code sums[term][row] += Σ d[column][row] · w[column][term]} over some columns of some panels.
     *
     * @param terms 16 with one vector of rows, 8 with two, or 1 with either
     * @param vectors of rows, 1 or 2; as many rows stand side by side in d and in sums
     */
    public static void run(
            int terms,
            int vectors,
            int panels,
            int columns,
            float[] d,
            int dAt,
            float[] w,
            int wAt,
            int wPanel,
            float[] sums,
            int at) {
        switch (terms * 4 + vectors) {
            case 16 * 4 + 1 -> terms16vectors1(panels, columns, d, dAt, w, wAt, wPanel, sums, at);
            case 8 * 4 + 2 -> terms8vectors2(panels, columns, d, dAt, w, wAt, wPanel, sums, at);
            case 1 * 4 + 1 -> terms1vectors1(panels, columns, d, dAt, w, wAt, wPanel, sums, at);
            case 1 * 4 + 2 -> terms1vectors2(panels, columns, d, dAt, w, wAt, wPanel, sums, at);
            default -> throw new IllegalArgumentException("terms " + terms + ", vectors " + vectors);
        }
    }

    private static void terms16vectors1(
            int panels, int columns, float[] d, int dAt, float[] w, int wAt, int wPanel, float[] sums, int at) {
        FloatVector y0_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at);
        FloatVector y1_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + LANES);
        FloatVector y2_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 2 * LANES);
        FloatVector y3_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 3 * LANES);
        FloatVector y4_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 4 * LANES);
        FloatVector y5_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 5 * LANES);
        FloatVector y6_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 6 * LANES);
        FloatVector y7_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 7 * LANES);
        FloatVector y8_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 8 * LANES);
        FloatVector y9_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 9 * LANES);
        FloatVector y10_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 10 * LANES);
        FloatVector y11_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 11 * LANES);
        FloatVector y12_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 12 * LANES);
        FloatVector y13_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 13 * LANES);
        FloatVector y14_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 14 * LANES);
        FloatVector y15_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 15 * LANES);
        for (int n = 0, i = dAt, j = wAt, left = columns; n < panels * columns; n++, i += LANES) {
            FloatVector d0 = FloatVector.fromArray(Lanes.FLOATS, d, i);
            FloatVector w0 = FloatVector.broadcast(Lanes.FLOATS, w[j]);
            y0_0 = w0.fma(d0, y0_0);
            FloatVector w1 = FloatVector.broadcast(Lanes.FLOATS, w[j + PANEL]);
            y1_0 = w1.fma(d0, y1_0);
            FloatVector w2 = FloatVector.broadcast(Lanes.FLOATS, w[j + 2 * PANEL]);
            y2_0 = w2.fma(d0, y2_0);
            FloatVector w3 = FloatVector.broadcast(Lanes.FLOATS, w[j + 3 * PANEL]);
            y3_0 = w3.fma(d0, y3_0);
            FloatVector w4 = FloatVector.broadcast(Lanes.FLOATS, w[j + 4 * PANEL]);
            y4_0 = w4.fma(d0, y4_0);
            FloatVector w5 = FloatVector.broadcast(Lanes.FLOATS, w[j + 5 * PANEL]);
            y5_0 = w5.fma(d0, y5_0);
            FloatVector w6 = FloatVector.broadcast(Lanes.FLOATS, w[j + 6 * PANEL]);
            y6_0 = w6.fma(d0, y6_0);
            FloatVector w7 = FloatVector.broadcast(Lanes.FLOATS, w[j + 7 * PANEL]);
            y7_0 = w7.fma(d0, y7_0);
            FloatVector w8 = FloatVector.broadcast(Lanes.FLOATS, w[j + 8 * PANEL]);
            y8_0 = w8.fma(d0, y8_0);
            FloatVector w9 = FloatVector.broadcast(Lanes.FLOATS, w[j + 9 * PANEL]);
            y9_0 = w9.fma(d0, y9_0);
            FloatVector w10 = FloatVector.broadcast(Lanes.FLOATS, w[j + 10 * PANEL]);
            y10_0 = w10.fma(d0, y10_0);
            FloatVector w11 = FloatVector.broadcast(Lanes.FLOATS, w[j + 11 * PANEL]);
            y11_0 = w11.fma(d0, y11_0);
            FloatVector w12 = FloatVector.broadcast(Lanes.FLOATS, w[j + 12 * PANEL]);
            y12_0 = w12.fma(d0, y12_0);
            FloatVector w13 = FloatVector.broadcast(Lanes.FLOATS, w[j + 13 * PANEL]);
            y13_0 = w13.fma(d0, y13_0);
            FloatVector w14 = FloatVector.broadcast(Lanes.FLOATS, w[j + 14 * PANEL]);
            y14_0 = w14.fma(d0, y14_0);
            FloatVector w15 = FloatVector.broadcast(Lanes.FLOATS, w[j + 15 * PANEL]);
            y15_0 = w15.fma(d0, y15_0);
            j++;
            if (--left == 0) {
                left = columns;
                j += wPanel - columns;
            }
        }
        y0_0.intoArray(sums, at);
        y1_0.intoArray(sums, at + LANES);
        y2_0.intoArray(sums, at + 2 * LANES);
        y3_0.intoArray(sums, at + 3 * LANES);
        y4_0.intoArray(sums, at + 4 * LANES);
        y5_0.intoArray(sums, at + 5 * LANES);
        y6_0.intoArray(sums, at + 6 * LANES);
        y7_0.intoArray(sums, at + 7 * LANES);
        y8_0.intoArray(sums, at + 8 * LANES);
        y9_0.intoArray(sums, at + 9 * LANES);
        y10_0.intoArray(sums, at + 10 * LANES);
        y11_0.intoArray(sums, at + 11 * LANES);
        y12_0.intoArray(sums, at + 12 * LANES);
        y13_0.intoArray(sums, at + 13 * LANES);
        y14_0.intoArray(sums, at + 14 * LANES);
        y15_0.intoArray(sums, at + 15 * LANES);
    }

    private static void terms8vectors2(
            int panels, int columns, float[] d, int dAt, float[] w, int wAt, int wPanel, float[] sums, int at) {
        FloatVector y0_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at);
        FloatVector y0_1 = FloatVector.fromArray(Lanes.FLOATS, sums, at + LANES);
        FloatVector y1_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 2 * LANES);
        FloatVector y1_1 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 3 * LANES);
        FloatVector y2_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 4 * LANES);
        FloatVector y2_1 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 5 * LANES);
        FloatVector y3_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 6 * LANES);
        FloatVector y3_1 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 7 * LANES);
        FloatVector y4_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 8 * LANES);
        FloatVector y4_1 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 9 * LANES);
        FloatVector y5_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 10 * LANES);
        FloatVector y5_1 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 11 * LANES);
        FloatVector y6_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 12 * LANES);
        FloatVector y6_1 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 13 * LANES);
        FloatVector y7_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 14 * LANES);
        FloatVector y7_1 = FloatVector.fromArray(Lanes.FLOATS, sums, at + 15 * LANES);
        for (int n = 0, i = dAt, j = wAt, left = columns; n < panels * columns; n++, i += 2 * LANES) {
            FloatVector d0 = FloatVector.fromArray(Lanes.FLOATS, d, i);
            FloatVector d1 = FloatVector.fromArray(Lanes.FLOATS, d, i + LANES);
            FloatVector w0 = FloatVector.broadcast(Lanes.FLOATS, w[j]);
            y0_0 = w0.fma(d0, y0_0);
            y0_1 = w0.fma(d1, y0_1);
            FloatVector w1 = FloatVector.broadcast(Lanes.FLOATS, w[j + PANEL]);
            y1_0 = w1.fma(d0, y1_0);
            y1_1 = w1.fma(d1, y1_1);
            FloatVector w2 = FloatVector.broadcast(Lanes.FLOATS, w[j + 2 * PANEL]);
            y2_0 = w2.fma(d0, y2_0);
            y2_1 = w2.fma(d1, y2_1);
            FloatVector w3 = FloatVector.broadcast(Lanes.FLOATS, w[j + 3 * PANEL]);
            y3_0 = w3.fma(d0, y3_0);
            y3_1 = w3.fma(d1, y3_1);
            FloatVector w4 = FloatVector.broadcast(Lanes.FLOATS, w[j + 4 * PANEL]);
            y4_0 = w4.fma(d0, y4_0);
            y4_1 = w4.fma(d1, y4_1);
            FloatVector w5 = FloatVector.broadcast(Lanes.FLOATS, w[j + 5 * PANEL]);
            y5_0 = w5.fma(d0, y5_0);
            y5_1 = w5.fma(d1, y5_1);
            FloatVector w6 = FloatVector.broadcast(Lanes.FLOATS, w[j + 6 * PANEL]);
            y6_0 = w6.fma(d0, y6_0);
            y6_1 = w6.fma(d1, y6_1);
            FloatVector w7 = FloatVector.broadcast(Lanes.FLOATS, w[j + 7 * PANEL]);
            y7_0 = w7.fma(d0, y7_0);
            y7_1 = w7.fma(d1, y7_1);
            j++;
            if (--left == 0) {
                left = columns;
                j += wPanel - columns;
            }
        }
        y0_0.intoArray(sums, at);
        y0_1.intoArray(sums, at + LANES);
        y1_0.intoArray(sums, at + 2 * LANES);
        y1_1.intoArray(sums, at + 3 * LANES);
        y2_0.intoArray(sums, at + 4 * LANES);
        y2_1.intoArray(sums, at + 5 * LANES);
        y3_0.intoArray(sums, at + 6 * LANES);
        y3_1.intoArray(sums, at + 7 * LANES);
        y4_0.intoArray(sums, at + 8 * LANES);
        y4_1.intoArray(sums, at + 9 * LANES);
        y5_0.intoArray(sums, at + 10 * LANES);
        y5_1.intoArray(sums, at + 11 * LANES);
        y6_0.intoArray(sums, at + 12 * LANES);
        y6_1.intoArray(sums, at + 13 * LANES);
        y7_0.intoArray(sums, at + 14 * LANES);
        y7_1.intoArray(sums, at + 15 * LANES);
    }

    private static void terms1vectors1(
            int panels, int columns, float[] d, int dAt, float[] w, int wAt, int wPanel, float[] sums, int at) {
        FloatVector y0_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at);
        for (int n = 0, i = dAt, j = wAt, left = columns; n < panels * columns; n++, i += LANES) {
            FloatVector d0 = FloatVector.fromArray(Lanes.FLOATS, d, i);
            FloatVector w0 = FloatVector.broadcast(Lanes.FLOATS, w[j]);
            y0_0 = w0.fma(d0, y0_0);
            j++;
            if (--left == 0) {
                left = columns;
                j += wPanel - columns;
            }
        }
        y0_0.intoArray(sums, at);
    }

    private static void terms1vectors2(
            int panels, int columns, float[] d, int dAt, float[] w, int wAt, int wPanel, float[] sums, int at) {
        FloatVector y0_0 = FloatVector.fromArray(Lanes.FLOATS, sums, at);
        FloatVector y0_1 = FloatVector.fromArray(Lanes.FLOATS, sums, at + LANES);
        for (int n = 0, i = dAt, j = wAt, left = columns; n < panels * columns; n++, i += 2 * LANES) {
            FloatVector d0 = FloatVector.fromArray(Lanes.FLOATS, d, i);
            FloatVector d1 = FloatVector.fromArray(Lanes.FLOATS, d, i + LANES);
            FloatVector w0 = FloatVector.broadcast(Lanes.FLOATS, w[j]);
            y0_0 = w0.fma(d0, y0_0);
            y0_1 = w0.fma(d1, y0_1);
            j++;
            if (--left == 0) {
                left = columns;
                j += wPanel - columns;
            }
        }
        y0_0.intoArray(sums, at);
        y0_1.intoArray(sums, at + LANES);
    }
}
