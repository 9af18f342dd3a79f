package org.moe4j.bench.layer;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;

/**
 * The definition in double of a layer of any size, with a softmax router and all its SwiGLU experts chosen by every token. Each row of the weights
 * is drawn anew where it is needed, so that a layer as wide as Mixtral's needs no memory for them.
 */
final class WideLayer {
    static final int TOKENS = 3;
    static final int EXPERTS = 2;

    private final int hidden;
    private final int width;
    private final Rows router;
    private final double[][] p = new double[TOKENS][EXPERTS];
    private final double[][] y;
    private final double[][] dx;
    private final double[][] dRouter;
    private final List<Expert> experts = new ArrayList<>();

    /** Rows of a matrix, of numbers that a float has; the same each time they are asked for. */
    record Rows(long seed, int count, int columns, double scale) implements RowSource {
        double[] row(int i) {
            SplittableRandom random = new SplittableRandom(seed * 1_000_003 + i);
            double[] row = new double[columns];
            for (int j = 0; j < columns; j++) {
                row[j] = (float) (random.nextDouble(-1.7, 1.7) * scale);
            }
            return row;
        }

        double[][] all() {
            double[][] all = new double[count][];
            for (int i = 0; i < count; i++) {
                all[i] = row(i);
            }
            return all;
        }

        Matrix on(Backend backend) {
            return backend.matrix(count, columns, this);
        }

        @Override
        public void read(int row, float[] into) {
            double[] values = row(row);
            for (int j = 0; j < columns; j++) {
                into[j] = (float) values[j];
            }
        }

        @Override
        public void read(int row, double[] into) {
            System.arraycopy(row(row), 0, into, 0, columns);
        }
    }

    /** One expert with what its forward pass keeps, by token. */
    final class Expert {
        final Rows gate;
        final Rows up;
        final Rows down;
        private final double[][] g = new double[TOKENS][width];
        private final double[][] u = new double[TOKENS][width];
        private final double[][] h = new double[TOKENS][width];
        private final double[][] output = new double[TOKENS][hidden];
        private final double[][] dHidden = new double[TOKENS][width];

        Expert(int index) {
            gate = new Rows(10 + 3L * index, width, hidden, 1 / Math.sqrt(hidden));
            up = new Rows(11 + 3L * index, width, hidden, 1 / Math.sqrt(hidden));
            down = new Rows(12 + 3L * index, hidden, width, 1 / Math.sqrt(width));
        }

        private void forward(double[][] x) {
            for (int f = 0; f < width; f++) {
                double[] ofGate = gate.row(f);
                double[] ofUp = up.row(f);
                for (int t = 0; t < TOKENS; t++) {
                    g[t][f] = dot(ofGate, x[t]);
                    u[t][f] = dot(ofUp, x[t]);
                    h[t][f] = g[t][f] * sigmoid(g[t][f]) * u[t][f];
                }
            }
            for (int d = 0; d < hidden; d++) {
                double[] row = down.row(d);
                for (int t = 0; t < TOKENS; t++) {
                    output[t][d] = dot(row, h[t]);
                }
            }
        }

        /** Takes what the experts' outputs are to change by, already times the weight of this one. */
        private void backward(int index, double[][] dy) {
            for (int d = 0; d < hidden; d++) {
                double[] row = down.row(d);
                for (int t = 0; t < TOKENS; t++) {
                    add(dHidden[t], p[t][index] * dy[t][d], row);
                }
            }
            for (int f = 0; f < width; f++) {
                double[] ofGate = gate.row(f);
                double[] ofUp = up.row(f);
                for (int t = 0; t < TOKENS; t++) {
                    add(dx[t], dGate(t, f), ofGate);
                    add(dx[t], dUp(t, f), ofUp);
                }
            }
        }

        private double dGate(int t, int f) {
            double s = sigmoid(g[t][f]);
            return dHidden[t][f] * u[t][f] * s * (1 + g[t][f] * (1 - s));
        }

        private double dUp(int t, int f) {
            return dHidden[t][f] * g[t][f] * sigmoid(g[t][f]);
        }

        /** Row i of a weight's gradient: which of the three. */
        double[] gradientRow(int index, String which, int i) {
            double[] row = new double[which.equals("down") ? width : hidden];
            for (int t = 0; t < TOKENS; t++) {
                switch (which) {
                    case "gate" -> add(row, dGate(t, i), x[t]);
                    case "up" -> add(row, dUp(t, i), x[t]);
                    default -> add(row, p[t][index] * dy[t][i], h[t]);
                }
            }
            return row;
        }
    }

    private final double[][] x;
    private final double[][] dy;

    WideLayer(int hidden, int width) {
        this.hidden = hidden;
        this.width = width;
        x = tokens().all();
        dy = dOutput().all();
        router = new Rows(3, EXPERTS, hidden, 1 / Math.sqrt(hidden));
        y = new double[TOKENS][hidden];
        dx = new double[TOKENS][hidden];
        dRouter = new double[EXPERTS][hidden];
        for (int e = 0; e < EXPERTS; e++) {
            experts.add(new Expert(e));
        }
        double[][] logits = router.all();
        for (int t = 0; t < TOKENS; t++) {
            p[t][0] = sigmoid(dot(logits[0], x[t]) - dot(logits[1], x[t]));
            p[t][1] = sigmoid(dot(logits[1], x[t]) - dot(logits[0], x[t]));
        }
        for (int e = 0; e < EXPERTS; e++) {
            experts.get(e).forward(x);
            for (int t = 0; t < TOKENS; t++) {
                add(y[t], p[t][e], experts.get(e).output[t]);
            }
        }
        for (int e = 0; e < EXPERTS; e++) {
            experts.get(e).backward(e, dy);
            for (int t = 0; t < TOKENS; t++) {
                double both = dot(dy[t], experts.get(e).output[t]) - dot(dy[t], experts.get(1 - e).output[t]);
                double dLogit = p[t][0] * p[t][1] * both;
                add(dRouter[e], dLogit, x[t]);
                add(dx[t], dLogit, logits[e]);
            }
        }
    }

    Rows tokens() {
        return new Rows(1, TOKENS, hidden, 1);
    }

    Rows dOutput() {
        return new Rows(2, TOKENS, hidden, 1);
    }

    Rows router() {
        return router;
    }

    List<Expert> experts() {
        return experts;
    }

    double[][] output() {
        return y;
    }

    double[][] dTokens() {
        return dx;
    }

    double[][] dRouter() {
        return dRouter;
    }

    private static double sigmoid(double a) {
        return 1 / (1 + StrictMath.exp(-a));
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    private static void add(double[] into, double factor, double[] row) {
        for (int i = 0; i < into.length; i++) {
            into[i] += factor * row[i];
        }
    }
}
