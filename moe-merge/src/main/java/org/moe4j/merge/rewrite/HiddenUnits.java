package org.moe4j.merge.rewrite;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.MergeConvention;

/**
 * What happens inside a shared branch, in {@code double}: {@code H} (T×Σm_j), where there are biases with a column of ones behind,
 * and {@code Y = Σ_j c_j⊙E_j} (T×D). Runs on the layer's backend where that is double, otherwise on the reference.
 */
final class HiddenUnits {
    private static final int TOKENS_PER_COLUMN = 2;

    private final Backend exact;
    private final Matrix tokens;
    private final double[][] hidden;
    private final double[][] output;

    private HiddenUnits(Backend exact, Matrix tokens, int columns) {
        this.exact = exact;
        this.tokens = tokens;
        hidden = new double[tokens.rows()][columns];
        output = new double[tokens.rows()][tokens.columns()];
    }

    /** H, of this object. */
    double[][] hidden() {
        return hidden;
    }

    /** Y, of this object. */
    double[][] output() {
        return output;
    }

    static HiddenUnits of(MoeLayer layer, Matrix tokens) {
        SharedBranch branch = layer.shared()
                .filter(shared -> !shared.experts().isEmpty())
                .orElseThrow(() -> Require.expected("layer", "at least 1 shared expert", 0));
        MergeConvention merge = SharedInspection.requireVisible(branch);
        Backend own = layer.experts().backend();
        int columns = columns(branch.experts());
        requireTokens(tokens, own, branch.experts().get(0).shape().hiddenSize(), columns);
        boolean isDouble = own.unitRoundoff() <= 0x1p-53;
        Backend exact = isDouble ? own : ReferenceBackend.instance();
        try (Matrix copy = isDouble ? tokens.share() : exact.copyOf(tokens)) {
            HiddenUnits units = new HiddenUnits(exact, copy, columns);
            units.fill(
                    branch.experts(), units.coefficients(merge, branch.experts().size()));
            return units;
        }
    }

    /** Columns of H. */
    private static int columns(List<Experts> experts) {
        long columns = experts.stream().anyMatch(expert -> expert.shape().biases()) ? 1 : 0;
        for (Experts expert : experts) {
            columns += expert.shape().intermediateSize();
        }
        return Math.toIntExact(columns);
    }

    private static void requireTokens(Matrix tokens, Backend own, int hiddenSize, int columns) {
        KernelChecks.owner("tokens", tokens, own);
        Require.count("tokens", tokens.columns(), hiddenSize, "columns (hidden size of the shared experts)");
        long least = (long) TOKENS_PER_COLUMN * columns;
        if (tokens.rows() < least) {
            throw Require.expected(
                    "tokens",
                    "at least " + least + " rows (twice the " + columns + " units of the shared experts)",
                    tokens.rows(),
                    "a fit to fewer tokens looks better than it is");
        }
        OptionalLong bad = own.firstNonFinite(tokens);
        if (bad.isPresent()) { // some activations make a number of NaN
            int row = (int) (bad.getAsLong() / hiddenSize);
            int column = (int) (bad.getAsLong() % hiddenSize);
            throw Require.expected(
                    "tokens", "finite values", tokens.get(row, column) + " in row " + row + ", column " + column);
        }
    }

    /** c, T rows of n numbers: what the merge multiplies each shared expert with. */
    private double[] coefficients(MergeConvention merge, int experts) {
        double[] coefficients = new double[tokens.rows() * experts];
        try (Unfinished made = new Unfinished()) { // closes all of it
            Matrix zeros = made.add(exact.buffer(tokens.rows(), tokens.columns()));
            MergeConvention here = merge instanceof GatedMerge gated
                    ? made.add(new GatedMerge(made.add(exact.copyOf(gated.gate())), gated.score()))
                    : merge;
            MergePass pass = here.merge(tokens, zeros, Collections.nCopies(experts, zeros));
            made.add(pass.output());
            Arrays.setAll(coefficients, i -> pass.sharedFactor(i / experts, i % experts));
        }
        return coefficients;
    }

    private void fill(List<Experts> experts, double[] coefficients) {
        int from = 0;
        for (int j = 0; j < experts.size(); j++) {
            int expert = j;
            double[] ofExpert = new double[hidden.length];
            Arrays.setAll(ofExpert, t -> coefficients[t * experts.size() + expert]);
            fill(experts.get(j), from, ofExpert);
            from += experts.get(j).shape().intermediateSize();
        }
        for (int t = 0; t < hidden.length; t++) {
            Arrays.fill(hidden[t], from, hidden[t].length, 1);
            for (double value : output[t]) {
                if (!Double.isFinite(value)) {
                    throw new ArithmeticException("shared: expected finite outputs but token " + t + " has " + value);
                }
            }
        }
    }

    private void fill(Experts expert, int from, double[] coefficients) {
        ExpertShape shape = expert.shape();
        try (Unfinished made = new Unfinished()) { // closes all of it
            Parameters weights = made.add(expert.parameters()).under("0");
            Matrix up = made.add(product(tokens, weights, BankPart.UP, BankPart.UP_BIAS));
            Projections projections = shape.activation().gated()
                    ? Projections.of(made.add(product(tokens, weights, BankPart.GATE, BankPart.GATE_BIAS)), up)
                    : Projections.of(up);
            Matrix units = made.add(exact.activate(shape.activation(), projections));
            double[] inside = units.toArray();
            double[] outside = made.add(product(units, weights, BankPart.DOWN, BankPart.DOWN_BIAS))
                    .toArray();
            int width = shape.intermediateSize();
            for (int t = 0; t < hidden.length; t++) {
                System.arraycopy(inside, t * width, hidden[t], from, width);
                for (int d = 0; d < output[t].length; d++) {
                    output[t][d] += coefficients[t] * outside[t * output[t].length + d];
                }
            }
        }
    }

    /** {@code input · weightᵀ}, and the bias where there is one. */
    private Matrix product(Matrix input, Parameters weights, BankPart part, BankPart bias) {
        try (Matrix weight = exact.copyOf(weights.get(part.key()));
                Matrix product = exact.matmulTransB(input, weight)) {
            if (!weights.names().contains(bias.key())) {
                return product.share();
            }
            double[] values = product.toArray();
            double[] added = weights.get(bias.key()).toArray();
            Arrays.setAll(values, i -> values[i] + added[i % added.length]);
            return exact.matrix(product.rows(), product.columns(), values);
        }
    }
}
