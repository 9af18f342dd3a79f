package org.moe4j.core.testing;

/** Gradients of one SwiGLU expert over some rows, one row after another on plain arrays. */
final class PlainGradients {
    private final int hiddenSize;
    private final int intermediateSize;
    double[] input = {};
    double[] gate = {};
    double[] up = {};
    double[] down = {};

    PlainGradients(int hiddenSize, int intermediateSize) {
        this.hiddenSize = hiddenSize;
        this.intermediateSize = intermediateSize;
    }

    void run(TokenwiseExperts.Expert expert, double[][] x, double[][] dOutput) {
        input = new double[x.length * hiddenSize];
        gate = new double[intermediateSize * hiddenSize];
        up = new double[intermediateSize * hiddenSize];
        down = new double[hiddenSize * intermediateSize];
        for (int i = 0; i < x.length; i++) {
            row(expert, x[i], dOutput[i], i * hiddenSize);
        }
    }

    private void row(TokenwiseExperts.Expert expert, double[] x, double[] d, int at) {
        for (int f = 0; f < intermediateSize; f++) {
            double g = TokenwiseExperts.dot(expert.gate()[f], x);
            double v = TokenwiseExperts.dot(expert.up()[f], x);
            double s = 1 / (1 + StrictMath.exp(-g));
            double dHidden = 0;
            for (int c = 0; c < hiddenSize; c++) {
                dHidden += d[c] * expert.down()[c][f];
                down[c * intermediateSize + f] += d[c] * g * s * v;
            }
            double dGate = dHidden * v * s * (1 + g * (1 - s));
            double dUp = dHidden * g * s;
            for (int c = 0; c < hiddenSize; c++) {
                gate[f * hiddenSize + c] += dGate * x[c];
                up[f * hiddenSize + c] += dUp * x[c];
                input[at + c] += dGate * expert.gate()[f][c] + dUp * expert.up()[f][c];
            }
        }
    }
}
