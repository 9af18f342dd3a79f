package org.moe4j.core.vector.tile;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Products of a few rows with binary16 panels, each output one chain of fused multiply-adds over the inner dimension. Two columns stand in one {@code int}; shifted to where a float has its bits, and scaled by the distance of the biases, they are numbers. The bodies are
 * written out, since accumulators live in registers only as variables of their own.
 */
public final class Float16Tiles {
    private static final int LANES = Lanes.FLOATS.length();
    private static final int PANEL = 2 * LANES;

    private static final int UPPER = 0xffff_0000;
    private static final int IN_FLOAT = 0x8fff_e000;
    private static final float SCALE = 0x1p112f;

    private Float16Tiles() {}

    /** {@code y += x · w}: rows 1, 2, 4 or 8; panels 4, 2 or 1 as {@link Shapes#panels} says. */
    public static void run(
            int rows,
            int panels,
            int inner,
            float[] x,
            int xAt,
            int xStep,
            short[] w,
            int wAt,
            int wStep,
            int wPanel,
            float[] y,
            int yAt,
            int yStep) {
        switch (rows * 8 + panels) {
            case 1 * 8 + 4 -> rows1panels4(inner, x, xAt, xStep, w, wAt, wStep, wPanel, y, yAt, yStep);
            case 2 * 8 + 4 -> rows2panels4(inner, x, xAt, xStep, w, wAt, wStep, wPanel, y, yAt, yStep);
            case 4 * 8 + 2 -> rows4panels2(inner, x, xAt, xStep, w, wAt, wStep, wPanel, y, yAt, yStep);
            case 8 * 8 + 1 -> rows8panels1(inner, x, xAt, xStep, w, wAt, wStep, y, yAt, yStep);
            case 1 * 8 + 1 -> rows1panels1(inner, x, xAt, xStep, w, wAt, wStep, y, yAt, yStep);
            case 2 * 8 + 1 -> rows2panels1(inner, x, xAt, xStep, w, wAt, wStep, y, yAt, yStep);
            case 4 * 8 + 1 -> rows4panels1(inner, x, xAt, xStep, w, wAt, wStep, y, yAt, yStep);
            default -> throw new IllegalArgumentException("rows " + rows + ", panels " + panels);
        }
    }

    /** Rows of a panel as single numbers, in the order of the columns. */
    public static void widen(short[] w, int at, int rows, float[] into, int intoAt) {
        for (int k = 0, from = at, to = intoAt; k < rows; k++, from += PANEL, to += PANEL) {
            IntVector pair = ShortVector.fromArray(Lanes.SHORTS, w, from).reinterpretAsInts();
            pair.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE)
                    .intoArray(into, to);
            pair.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE)
                    .intoArray(into, to + LANES);
        }
    }

    private static void rows1panels4(
            int inner,
            float[] x,
            int xAt,
            int xStep,
            short[] w,
            int wAt,
            int wStep,
            int wPanel,
            float[] y,
            int yAt,
            int yStep) {
        FloatVector y0_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt);
        FloatVector y0_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + LANES);
        FloatVector y0_2 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 2 * LANES);
        FloatVector y0_3 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 3 * LANES);
        FloatVector y0_4 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 4 * LANES);
        FloatVector y0_5 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 5 * LANES);
        FloatVector y0_6 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 6 * LANES);
        FloatVector y0_7 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 7 * LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            IntVector pair0 = ShortVector.fromArray(Lanes.SHORTS, w, j).reinterpretAsInts();
            FloatVector w0 = pair0.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w1 = pair0.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            IntVector pair1 = ShortVector.fromArray(Lanes.SHORTS, w, j + wPanel).reinterpretAsInts();
            FloatVector w2 = pair1.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w3 = pair1.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            IntVector pair2 =
                    ShortVector.fromArray(Lanes.SHORTS, w, j + 2 * wPanel).reinterpretAsInts();
            FloatVector w4 = pair2.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w5 = pair2.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            IntVector pair3 =
                    ShortVector.fromArray(Lanes.SHORTS, w, j + 3 * wPanel).reinterpretAsInts();
            FloatVector w6 = pair3.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w7 = pair3.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector x0 = FloatVector.broadcast(Lanes.FLOATS, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
            y0_2 = x0.fma(w2, y0_2);
            y0_3 = x0.fma(w3, y0_3);
            y0_4 = x0.fma(w4, y0_4);
            y0_5 = x0.fma(w5, y0_5);
            y0_6 = x0.fma(w6, y0_6);
            y0_7 = x0.fma(w7, y0_7);
        }
        y0_0.intoArray(y, yAt);
        y0_1.intoArray(y, yAt + LANES);
        y0_2.intoArray(y, yAt + 2 * LANES);
        y0_3.intoArray(y, yAt + 3 * LANES);
        y0_4.intoArray(y, yAt + 4 * LANES);
        y0_5.intoArray(y, yAt + 5 * LANES);
        y0_6.intoArray(y, yAt + 6 * LANES);
        y0_7.intoArray(y, yAt + 7 * LANES);
    }

    private static void rows2panels4(
            int inner,
            float[] x,
            int xAt,
            int xStep,
            short[] w,
            int wAt,
            int wStep,
            int wPanel,
            float[] y,
            int yAt,
            int yStep) {
        FloatVector y0_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt);
        FloatVector y0_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + LANES);
        FloatVector y0_2 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 2 * LANES);
        FloatVector y0_3 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 3 * LANES);
        FloatVector y0_4 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 4 * LANES);
        FloatVector y0_5 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 5 * LANES);
        FloatVector y0_6 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 6 * LANES);
        FloatVector y0_7 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 7 * LANES);
        FloatVector y1_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep);
        FloatVector y1_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + LANES);
        FloatVector y1_2 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + 2 * LANES);
        FloatVector y1_3 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + 3 * LANES);
        FloatVector y1_4 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + 4 * LANES);
        FloatVector y1_5 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + 5 * LANES);
        FloatVector y1_6 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + 6 * LANES);
        FloatVector y1_7 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + 7 * LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            IntVector pair0 = ShortVector.fromArray(Lanes.SHORTS, w, j).reinterpretAsInts();
            FloatVector w0 = pair0.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w1 = pair0.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            IntVector pair1 = ShortVector.fromArray(Lanes.SHORTS, w, j + wPanel).reinterpretAsInts();
            FloatVector w2 = pair1.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w3 = pair1.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            IntVector pair2 =
                    ShortVector.fromArray(Lanes.SHORTS, w, j + 2 * wPanel).reinterpretAsInts();
            FloatVector w4 = pair2.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w5 = pair2.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            IntVector pair3 =
                    ShortVector.fromArray(Lanes.SHORTS, w, j + 3 * wPanel).reinterpretAsInts();
            FloatVector w6 = pair3.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w7 = pair3.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector x0 = FloatVector.broadcast(Lanes.FLOATS, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
            y0_2 = x0.fma(w2, y0_2);
            y0_3 = x0.fma(w3, y0_3);
            y0_4 = x0.fma(w4, y0_4);
            y0_5 = x0.fma(w5, y0_5);
            y0_6 = x0.fma(w6, y0_6);
            y0_7 = x0.fma(w7, y0_7);
            FloatVector x1 = FloatVector.broadcast(Lanes.FLOATS, x[i + 1]);
            y1_0 = x1.fma(w0, y1_0);
            y1_1 = x1.fma(w1, y1_1);
            y1_2 = x1.fma(w2, y1_2);
            y1_3 = x1.fma(w3, y1_3);
            y1_4 = x1.fma(w4, y1_4);
            y1_5 = x1.fma(w5, y1_5);
            y1_6 = x1.fma(w6, y1_6);
            y1_7 = x1.fma(w7, y1_7);
        }
        y0_0.intoArray(y, yAt);
        y0_1.intoArray(y, yAt + LANES);
        y0_2.intoArray(y, yAt + 2 * LANES);
        y0_3.intoArray(y, yAt + 3 * LANES);
        y0_4.intoArray(y, yAt + 4 * LANES);
        y0_5.intoArray(y, yAt + 5 * LANES);
        y0_6.intoArray(y, yAt + 6 * LANES);
        y0_7.intoArray(y, yAt + 7 * LANES);
        y1_0.intoArray(y, yAt + yStep);
        y1_1.intoArray(y, yAt + yStep + LANES);
        y1_2.intoArray(y, yAt + yStep + 2 * LANES);
        y1_3.intoArray(y, yAt + yStep + 3 * LANES);
        y1_4.intoArray(y, yAt + yStep + 4 * LANES);
        y1_5.intoArray(y, yAt + yStep + 5 * LANES);
        y1_6.intoArray(y, yAt + yStep + 6 * LANES);
        y1_7.intoArray(y, yAt + yStep + 7 * LANES);
    }

    private static void rows4panels2(
            int inner,
            float[] x,
            int xAt,
            int xStep,
            short[] w,
            int wAt,
            int wStep,
            int wPanel,
            float[] y,
            int yAt,
            int yStep) {
        FloatVector y0_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt);
        FloatVector y0_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + LANES);
        FloatVector y0_2 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 2 * LANES);
        FloatVector y0_3 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 3 * LANES);
        FloatVector y1_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep);
        FloatVector y1_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + LANES);
        FloatVector y1_2 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + 2 * LANES);
        FloatVector y1_3 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + 3 * LANES);
        FloatVector y2_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 2 * yStep);
        FloatVector y2_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 2 * yStep + LANES);
        FloatVector y2_2 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 2 * yStep + 2 * LANES);
        FloatVector y2_3 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 2 * yStep + 3 * LANES);
        FloatVector y3_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 3 * yStep);
        FloatVector y3_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 3 * yStep + LANES);
        FloatVector y3_2 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 3 * yStep + 2 * LANES);
        FloatVector y3_3 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 3 * yStep + 3 * LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            IntVector pair0 = ShortVector.fromArray(Lanes.SHORTS, w, j).reinterpretAsInts();
            FloatVector w0 = pair0.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w1 = pair0.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            IntVector pair1 = ShortVector.fromArray(Lanes.SHORTS, w, j + wPanel).reinterpretAsInts();
            FloatVector w2 = pair1.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w3 = pair1.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector x0 = FloatVector.broadcast(Lanes.FLOATS, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
            y0_2 = x0.fma(w2, y0_2);
            y0_3 = x0.fma(w3, y0_3);
            FloatVector x1 = FloatVector.broadcast(Lanes.FLOATS, x[i + 1]);
            y1_0 = x1.fma(w0, y1_0);
            y1_1 = x1.fma(w1, y1_1);
            y1_2 = x1.fma(w2, y1_2);
            y1_3 = x1.fma(w3, y1_3);
            FloatVector x2 = FloatVector.broadcast(Lanes.FLOATS, x[i + 2]);
            y2_0 = x2.fma(w0, y2_0);
            y2_1 = x2.fma(w1, y2_1);
            y2_2 = x2.fma(w2, y2_2);
            y2_3 = x2.fma(w3, y2_3);
            FloatVector x3 = FloatVector.broadcast(Lanes.FLOATS, x[i + 3]);
            y3_0 = x3.fma(w0, y3_0);
            y3_1 = x3.fma(w1, y3_1);
            y3_2 = x3.fma(w2, y3_2);
            y3_3 = x3.fma(w3, y3_3);
        }
        y0_0.intoArray(y, yAt);
        y0_1.intoArray(y, yAt + LANES);
        y0_2.intoArray(y, yAt + 2 * LANES);
        y0_3.intoArray(y, yAt + 3 * LANES);
        y1_0.intoArray(y, yAt + yStep);
        y1_1.intoArray(y, yAt + yStep + LANES);
        y1_2.intoArray(y, yAt + yStep + 2 * LANES);
        y1_3.intoArray(y, yAt + yStep + 3 * LANES);
        y2_0.intoArray(y, yAt + 2 * yStep);
        y2_1.intoArray(y, yAt + 2 * yStep + LANES);
        y2_2.intoArray(y, yAt + 2 * yStep + 2 * LANES);
        y2_3.intoArray(y, yAt + 2 * yStep + 3 * LANES);
        y3_0.intoArray(y, yAt + 3 * yStep);
        y3_1.intoArray(y, yAt + 3 * yStep + LANES);
        y3_2.intoArray(y, yAt + 3 * yStep + 2 * LANES);
        y3_3.intoArray(y, yAt + 3 * yStep + 3 * LANES);
    }

    private static void rows8panels1(
            int inner, float[] x, int xAt, int xStep, short[] w, int wAt, int wStep, float[] y, int yAt, int yStep) {
        FloatVector y0_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt);
        FloatVector y0_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + LANES);
        FloatVector y1_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep);
        FloatVector y1_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + LANES);
        FloatVector y2_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 2 * yStep);
        FloatVector y2_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 2 * yStep + LANES);
        FloatVector y3_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 3 * yStep);
        FloatVector y3_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 3 * yStep + LANES);
        FloatVector y4_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 4 * yStep);
        FloatVector y4_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 4 * yStep + LANES);
        FloatVector y5_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 5 * yStep);
        FloatVector y5_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 5 * yStep + LANES);
        FloatVector y6_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 6 * yStep);
        FloatVector y6_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 6 * yStep + LANES);
        FloatVector y7_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 7 * yStep);
        FloatVector y7_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 7 * yStep + LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            IntVector pair0 = ShortVector.fromArray(Lanes.SHORTS, w, j).reinterpretAsInts();
            FloatVector w0 = pair0.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w1 = pair0.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector x0 = FloatVector.broadcast(Lanes.FLOATS, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
            FloatVector x1 = FloatVector.broadcast(Lanes.FLOATS, x[i + 1]);
            y1_0 = x1.fma(w0, y1_0);
            y1_1 = x1.fma(w1, y1_1);
            FloatVector x2 = FloatVector.broadcast(Lanes.FLOATS, x[i + 2]);
            y2_0 = x2.fma(w0, y2_0);
            y2_1 = x2.fma(w1, y2_1);
            FloatVector x3 = FloatVector.broadcast(Lanes.FLOATS, x[i + 3]);
            y3_0 = x3.fma(w0, y3_0);
            y3_1 = x3.fma(w1, y3_1);
            FloatVector x4 = FloatVector.broadcast(Lanes.FLOATS, x[i + 4]);
            y4_0 = x4.fma(w0, y4_0);
            y4_1 = x4.fma(w1, y4_1);
            FloatVector x5 = FloatVector.broadcast(Lanes.FLOATS, x[i + 5]);
            y5_0 = x5.fma(w0, y5_0);
            y5_1 = x5.fma(w1, y5_1);
            FloatVector x6 = FloatVector.broadcast(Lanes.FLOATS, x[i + 6]);
            y6_0 = x6.fma(w0, y6_0);
            y6_1 = x6.fma(w1, y6_1);
            FloatVector x7 = FloatVector.broadcast(Lanes.FLOATS, x[i + 7]);
            y7_0 = x7.fma(w0, y7_0);
            y7_1 = x7.fma(w1, y7_1);
        }
        y0_0.intoArray(y, yAt);
        y0_1.intoArray(y, yAt + LANES);
        y1_0.intoArray(y, yAt + yStep);
        y1_1.intoArray(y, yAt + yStep + LANES);
        y2_0.intoArray(y, yAt + 2 * yStep);
        y2_1.intoArray(y, yAt + 2 * yStep + LANES);
        y3_0.intoArray(y, yAt + 3 * yStep);
        y3_1.intoArray(y, yAt + 3 * yStep + LANES);
        y4_0.intoArray(y, yAt + 4 * yStep);
        y4_1.intoArray(y, yAt + 4 * yStep + LANES);
        y5_0.intoArray(y, yAt + 5 * yStep);
        y5_1.intoArray(y, yAt + 5 * yStep + LANES);
        y6_0.intoArray(y, yAt + 6 * yStep);
        y6_1.intoArray(y, yAt + 6 * yStep + LANES);
        y7_0.intoArray(y, yAt + 7 * yStep);
        y7_1.intoArray(y, yAt + 7 * yStep + LANES);
    }

    private static void rows1panels1(
            int inner, float[] x, int xAt, int xStep, short[] w, int wAt, int wStep, float[] y, int yAt, int yStep) {
        FloatVector y0_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt);
        FloatVector y0_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            IntVector pair0 = ShortVector.fromArray(Lanes.SHORTS, w, j).reinterpretAsInts();
            FloatVector w0 = pair0.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w1 = pair0.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector x0 = FloatVector.broadcast(Lanes.FLOATS, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
        }
        y0_0.intoArray(y, yAt);
        y0_1.intoArray(y, yAt + LANES);
    }

    private static void rows2panels1(
            int inner, float[] x, int xAt, int xStep, short[] w, int wAt, int wStep, float[] y, int yAt, int yStep) {
        FloatVector y0_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt);
        FloatVector y0_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + LANES);
        FloatVector y1_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep);
        FloatVector y1_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            IntVector pair0 = ShortVector.fromArray(Lanes.SHORTS, w, j).reinterpretAsInts();
            FloatVector w0 = pair0.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w1 = pair0.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector x0 = FloatVector.broadcast(Lanes.FLOATS, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
            FloatVector x1 = FloatVector.broadcast(Lanes.FLOATS, x[i + 1]);
            y1_0 = x1.fma(w0, y1_0);
            y1_1 = x1.fma(w1, y1_1);
        }
        y0_0.intoArray(y, yAt);
        y0_1.intoArray(y, yAt + LANES);
        y1_0.intoArray(y, yAt + yStep);
        y1_1.intoArray(y, yAt + yStep + LANES);
    }

    private static void rows4panels1(
            int inner, float[] x, int xAt, int xStep, short[] w, int wAt, int wStep, float[] y, int yAt, int yStep) {
        FloatVector y0_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt);
        FloatVector y0_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + LANES);
        FloatVector y1_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep);
        FloatVector y1_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + yStep + LANES);
        FloatVector y2_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 2 * yStep);
        FloatVector y2_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 2 * yStep + LANES);
        FloatVector y3_0 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 3 * yStep);
        FloatVector y3_1 = FloatVector.fromArray(Lanes.FLOATS, y, yAt + 3 * yStep + LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            IntVector pair0 = ShortVector.fromArray(Lanes.SHORTS, w, j).reinterpretAsInts();
            FloatVector w0 = pair0.lanewise(VectorOperators.LSHL, 16)
                    .lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector w1 = pair0.lanewise(VectorOperators.ASHR, 3)
                    .and(IN_FLOAT)
                    .reinterpretAsFloats()
                    .mul(SCALE);
            FloatVector x0 = FloatVector.broadcast(Lanes.FLOATS, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
            FloatVector x1 = FloatVector.broadcast(Lanes.FLOATS, x[i + 1]);
            y1_0 = x1.fma(w0, y1_0);
            y1_1 = x1.fma(w1, y1_1);
            FloatVector x2 = FloatVector.broadcast(Lanes.FLOATS, x[i + 2]);
            y2_0 = x2.fma(w0, y2_0);
            y2_1 = x2.fma(w1, y2_1);
            FloatVector x3 = FloatVector.broadcast(Lanes.FLOATS, x[i + 3]);
            y3_0 = x3.fma(w0, y3_0);
            y3_1 = x3.fma(w1, y3_1);
        }
        y0_0.intoArray(y, yAt);
        y0_1.intoArray(y, yAt + LANES);
        y1_0.intoArray(y, yAt + yStep);
        y1_1.intoArray(y, yAt + yStep + LANES);
        y2_0.intoArray(y, yAt + 2 * yStep);
        y2_1.intoArray(y, yAt + 2 * yStep + LANES);
        y3_0.intoArray(y, yAt + 3 * yStep);
        y3_1.intoArray(y, yAt + 3 * yStep + LANES);
    }
}
