package org.moe4j.core.vector.tile;

import jdk.incubator.vector.DoubleVector;

/**
 * Products of a few rows with double-precision panels, each output one chain of fused multiply-adds over the inner dimension. The bodies are
 * written out, since accumulators live in registers only as variables of their own.
 */
public final class DoubleTiles {
    private static final int LANES = Lanes.DOUBLES.length();
    private static final int PANEL = 2 * LANES;

    private DoubleTiles() {}

    /** {@code y += x · w}: rows 1, 2, 4 or 8; panels 4, 2 or 1 as {@link Shapes#panels} says. */
    public static void run(
            int rows,
            int panels,
            int inner,
            double[] x,
            int xAt,
            int xStep,
            double[] w,
            int wAt,
            int wStep,
            int wPanel,
            double[] y,
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

    private static void rows1panels4(
            int inner,
            double[] x,
            int xAt,
            int xStep,
            double[] w,
            int wAt,
            int wStep,
            int wPanel,
            double[] y,
            int yAt,
            int yStep) {
        DoubleVector y0_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt);
        DoubleVector y0_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + LANES);
        DoubleVector y0_2 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 2 * LANES);
        DoubleVector y0_3 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 3 * LANES);
        DoubleVector y0_4 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 4 * LANES);
        DoubleVector y0_5 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 5 * LANES);
        DoubleVector y0_6 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 6 * LANES);
        DoubleVector y0_7 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 7 * LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            DoubleVector w0 = DoubleVector.fromArray(Lanes.DOUBLES, w, j);
            DoubleVector w1 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + LANES);
            DoubleVector w2 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + wPanel);
            DoubleVector w3 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + wPanel + LANES);
            DoubleVector w4 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + 2 * wPanel);
            DoubleVector w5 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + 2 * wPanel + LANES);
            DoubleVector w6 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + 3 * wPanel);
            DoubleVector w7 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + 3 * wPanel + LANES);
            DoubleVector x0 = DoubleVector.broadcast(Lanes.DOUBLES, x[i]);
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
            double[] x,
            int xAt,
            int xStep,
            double[] w,
            int wAt,
            int wStep,
            int wPanel,
            double[] y,
            int yAt,
            int yStep) {
        DoubleVector y0_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt);
        DoubleVector y0_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + LANES);
        DoubleVector y0_2 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 2 * LANES);
        DoubleVector y0_3 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 3 * LANES);
        DoubleVector y0_4 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 4 * LANES);
        DoubleVector y0_5 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 5 * LANES);
        DoubleVector y0_6 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 6 * LANES);
        DoubleVector y0_7 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 7 * LANES);
        DoubleVector y1_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep);
        DoubleVector y1_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + LANES);
        DoubleVector y1_2 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + 2 * LANES);
        DoubleVector y1_3 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + 3 * LANES);
        DoubleVector y1_4 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + 4 * LANES);
        DoubleVector y1_5 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + 5 * LANES);
        DoubleVector y1_6 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + 6 * LANES);
        DoubleVector y1_7 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + 7 * LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            DoubleVector w0 = DoubleVector.fromArray(Lanes.DOUBLES, w, j);
            DoubleVector w1 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + LANES);
            DoubleVector w2 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + wPanel);
            DoubleVector w3 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + wPanel + LANES);
            DoubleVector w4 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + 2 * wPanel);
            DoubleVector w5 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + 2 * wPanel + LANES);
            DoubleVector w6 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + 3 * wPanel);
            DoubleVector w7 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + 3 * wPanel + LANES);
            DoubleVector x0 = DoubleVector.broadcast(Lanes.DOUBLES, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
            y0_2 = x0.fma(w2, y0_2);
            y0_3 = x0.fma(w3, y0_3);
            y0_4 = x0.fma(w4, y0_4);
            y0_5 = x0.fma(w5, y0_5);
            y0_6 = x0.fma(w6, y0_6);
            y0_7 = x0.fma(w7, y0_7);
            DoubleVector x1 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 1]);
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
            double[] x,
            int xAt,
            int xStep,
            double[] w,
            int wAt,
            int wStep,
            int wPanel,
            double[] y,
            int yAt,
            int yStep) {
        DoubleVector y0_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt);
        DoubleVector y0_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + LANES);
        DoubleVector y0_2 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 2 * LANES);
        DoubleVector y0_3 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 3 * LANES);
        DoubleVector y1_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep);
        DoubleVector y1_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + LANES);
        DoubleVector y1_2 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + 2 * LANES);
        DoubleVector y1_3 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + 3 * LANES);
        DoubleVector y2_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 2 * yStep);
        DoubleVector y2_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 2 * yStep + LANES);
        DoubleVector y2_2 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 2 * yStep + 2 * LANES);
        DoubleVector y2_3 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 2 * yStep + 3 * LANES);
        DoubleVector y3_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 3 * yStep);
        DoubleVector y3_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 3 * yStep + LANES);
        DoubleVector y3_2 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 3 * yStep + 2 * LANES);
        DoubleVector y3_3 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 3 * yStep + 3 * LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            DoubleVector w0 = DoubleVector.fromArray(Lanes.DOUBLES, w, j);
            DoubleVector w1 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + LANES);
            DoubleVector w2 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + wPanel);
            DoubleVector w3 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + wPanel + LANES);
            DoubleVector x0 = DoubleVector.broadcast(Lanes.DOUBLES, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
            y0_2 = x0.fma(w2, y0_2);
            y0_3 = x0.fma(w3, y0_3);
            DoubleVector x1 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 1]);
            y1_0 = x1.fma(w0, y1_0);
            y1_1 = x1.fma(w1, y1_1);
            y1_2 = x1.fma(w2, y1_2);
            y1_3 = x1.fma(w3, y1_3);
            DoubleVector x2 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 2]);
            y2_0 = x2.fma(w0, y2_0);
            y2_1 = x2.fma(w1, y2_1);
            y2_2 = x2.fma(w2, y2_2);
            y2_3 = x2.fma(w3, y2_3);
            DoubleVector x3 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 3]);
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
            int inner, double[] x, int xAt, int xStep, double[] w, int wAt, int wStep, double[] y, int yAt, int yStep) {
        DoubleVector y0_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt);
        DoubleVector y0_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + LANES);
        DoubleVector y1_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep);
        DoubleVector y1_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + LANES);
        DoubleVector y2_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 2 * yStep);
        DoubleVector y2_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 2 * yStep + LANES);
        DoubleVector y3_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 3 * yStep);
        DoubleVector y3_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 3 * yStep + LANES);
        DoubleVector y4_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 4 * yStep);
        DoubleVector y4_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 4 * yStep + LANES);
        DoubleVector y5_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 5 * yStep);
        DoubleVector y5_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 5 * yStep + LANES);
        DoubleVector y6_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 6 * yStep);
        DoubleVector y6_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 6 * yStep + LANES);
        DoubleVector y7_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 7 * yStep);
        DoubleVector y7_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 7 * yStep + LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            DoubleVector w0 = DoubleVector.fromArray(Lanes.DOUBLES, w, j);
            DoubleVector w1 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + LANES);
            DoubleVector x0 = DoubleVector.broadcast(Lanes.DOUBLES, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
            DoubleVector x1 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 1]);
            y1_0 = x1.fma(w0, y1_0);
            y1_1 = x1.fma(w1, y1_1);
            DoubleVector x2 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 2]);
            y2_0 = x2.fma(w0, y2_0);
            y2_1 = x2.fma(w1, y2_1);
            DoubleVector x3 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 3]);
            y3_0 = x3.fma(w0, y3_0);
            y3_1 = x3.fma(w1, y3_1);
            DoubleVector x4 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 4]);
            y4_0 = x4.fma(w0, y4_0);
            y4_1 = x4.fma(w1, y4_1);
            DoubleVector x5 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 5]);
            y5_0 = x5.fma(w0, y5_0);
            y5_1 = x5.fma(w1, y5_1);
            DoubleVector x6 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 6]);
            y6_0 = x6.fma(w0, y6_0);
            y6_1 = x6.fma(w1, y6_1);
            DoubleVector x7 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 7]);
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
            int inner, double[] x, int xAt, int xStep, double[] w, int wAt, int wStep, double[] y, int yAt, int yStep) {
        DoubleVector y0_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt);
        DoubleVector y0_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            DoubleVector w0 = DoubleVector.fromArray(Lanes.DOUBLES, w, j);
            DoubleVector w1 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + LANES);
            DoubleVector x0 = DoubleVector.broadcast(Lanes.DOUBLES, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
        }
        y0_0.intoArray(y, yAt);
        y0_1.intoArray(y, yAt + LANES);
    }

    private static void rows2panels1(
            int inner, double[] x, int xAt, int xStep, double[] w, int wAt, int wStep, double[] y, int yAt, int yStep) {
        DoubleVector y0_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt);
        DoubleVector y0_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + LANES);
        DoubleVector y1_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep);
        DoubleVector y1_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            DoubleVector w0 = DoubleVector.fromArray(Lanes.DOUBLES, w, j);
            DoubleVector w1 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + LANES);
            DoubleVector x0 = DoubleVector.broadcast(Lanes.DOUBLES, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
            DoubleVector x1 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 1]);
            y1_0 = x1.fma(w0, y1_0);
            y1_1 = x1.fma(w1, y1_1);
        }
        y0_0.intoArray(y, yAt);
        y0_1.intoArray(y, yAt + LANES);
        y1_0.intoArray(y, yAt + yStep);
        y1_1.intoArray(y, yAt + yStep + LANES);
    }

    private static void rows4panels1(
            int inner, double[] x, int xAt, int xStep, double[] w, int wAt, int wStep, double[] y, int yAt, int yStep) {
        DoubleVector y0_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt);
        DoubleVector y0_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + LANES);
        DoubleVector y1_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep);
        DoubleVector y1_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + yStep + LANES);
        DoubleVector y2_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 2 * yStep);
        DoubleVector y2_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 2 * yStep + LANES);
        DoubleVector y3_0 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 3 * yStep);
        DoubleVector y3_1 = DoubleVector.fromArray(Lanes.DOUBLES, y, yAt + 3 * yStep + LANES);
        for (int k = 0, i = xAt, j = wAt; k < inner; k++, i += xStep, j += wStep) {
            DoubleVector w0 = DoubleVector.fromArray(Lanes.DOUBLES, w, j);
            DoubleVector w1 = DoubleVector.fromArray(Lanes.DOUBLES, w, j + LANES);
            DoubleVector x0 = DoubleVector.broadcast(Lanes.DOUBLES, x[i]);
            y0_0 = x0.fma(w0, y0_0);
            y0_1 = x0.fma(w1, y0_1);
            DoubleVector x1 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 1]);
            y1_0 = x1.fma(w0, y1_0);
            y1_1 = x1.fma(w1, y1_1);
            DoubleVector x2 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 2]);
            y2_0 = x2.fma(w0, y2_0);
            y2_1 = x2.fma(w1, y2_1);
            DoubleVector x3 = DoubleVector.broadcast(Lanes.DOUBLES, x[i + 3]);
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
