package org.moe4j.core.testing;

import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.parameter.Parameters;

/** One expert of any kind on plain arrays: one token after another, forward and gradients. */
@SuppressWarnings("ArrayRecordComponent") // test data
public record TokenwiseFeedForward(
        Activation activation,
        double[][] gate,
        double[][] up,
        double[][] down,
        double[] gateBias,
        double[] upBias,
        double[] downBias) {
    /** The expert of some parameters; zeros where it has no such weights. */
    public static TokenwiseFeedForward of(Activation activation, Parameters weights) {
        double[][] up = rows(weights, "up", 0, 0);
        double[][] down = rows(weights, "down", 0, 0);
        return new TokenwiseFeedForward(
                activation,
                rows(weights, "gate", up.length, down.length),
                up,
                down,
                rows(weights, "gateBias", 1, up.length)[0],
                rows(weights, "upBias", 1, up.length)[0],
                rows(weights, "downBias", 1, down.length)[0]);
    }

    private static double[][] rows(Parameters weights, String name, int rows, int columns) {
        return weights.names().contains(name)
                ? TokenwiseExperts.rows(
                        weights.get(name).toArray(),
                        weights.get(name).rows(),
                        weights.get(name).columns())
                : new double[rows][columns];
    }

    private double gateOf(int f, double[] x) {
        return TokenwiseExperts.dot(gate[f], x) + gateBias[f];
    }

    private double upOf(int f, double[] x) {
        return TokenwiseExperts.dot(up[f], x) + upBias[f];
    }

    /** One token through the expert. */
    public double[] output(double[] x) {
        double[] y = downBias.clone();
        for (int f = 0; f < up.length; f++) {
            double hidden = PlainActivations.value(activation, gateOf(f, x), upOf(f, x));
            for (int d = 0; d < y.length; d++) {
                y[d] += down[d][f] * hidden;
            }
        }
        return y;
    }

    /** Adds the gradients of one token; returns that of the token. */
    double[] backward(double[] x, double[] dOutput, PlainGradients into) {
        double[] dInput = new double[x.length];
        for (int d = 0; d < dOutput.length; d++) {
            into.of(BankPart.DOWN_BIAS)[d] += dOutput[d];
        }
        for (int f = 0; f < up.length; f++) {
            double g = gateOf(f, x);
            double u = upOf(f, x);
            double dHidden = 0;
            for (int d = 0; d < dOutput.length; d++) {
                dHidden += dOutput[d] * down[d][f];
                into.of(BankPart.DOWN)[d * up.length + f] += dOutput[d] * PlainActivations.value(activation, g, u);
            }
            double dGate = dHidden * PlainActivations.gateSlope(activation, g, u);
            double dUp = dHidden * PlainActivations.upSlope(activation, g, u);
            into.of(BankPart.GATE_BIAS)[f] += dGate;
            into.of(BankPart.UP_BIAS)[f] += dUp;
            for (int d = 0; d < x.length; d++) {
                into.of(BankPart.GATE)[f * x.length + d] += dGate * x[d];
                into.of(BankPart.UP)[f * x.length + d] += dUp * x[d];
                dInput[d] += dGate * gate[f][d] + dUp * up[f][d];
            }
        }
        return dInput;
    }
}
