package org.moe4j.core.testing;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import org.moe4j.core.backend.BankPart;

/** Gradients of one expert over some rows, one row after another on plain arrays. */
final class PlainGradients {
    private final Map<BankPart, double[]> parts = new EnumMap<>(BankPart.class);
    final double[] input;

    PlainGradients(TokenwiseFeedForward expert, double[][] x, double[][] dOutput) {
        int hidden = expert.down().length;
        for (BankPart part : BankPart.values()) {
            parts.put(
                    part, new double[part.rows(hidden, expert.up().length) * part.columns(hidden, expert.up().length)]);
        }
        input = new double[x.length * hidden];
        for (int i = 0; i < x.length; i++) {
            System.arraycopy(expert.backward(x[i], dOutput[i], this), 0, input, i * hidden, hidden);
        }
    }

    double[] of(BankPart part) {
        return Objects.requireNonNull(parts.get(part));
    }
}
