package org.moe4j.router.analysis.token;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.Coefficients;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.SharedBranch;

/**
 * One token through one layer: {@code y = Σ_e r_e FFN_e(x) + Σ_b s_b g_b(x)}, summand by summand, and the sum beside the layer's own
 * output. How much an expert changes is its coefficient times the length of what it proposes, of which the router controls the
 * first alone (the article on OLMoE-1B-7B, LLM Architecture Refresh 5, §3).
 *
 * <p>The experts run in the layer's backend, each on this token alone; their rows are multiplied and added in {@code double}.
 *
 * @param routed the chosen experts by rank; one that capacity dropped has the coefficient 0
 * @param shared the shared experts
 * @param passed what multiplies the token itself, where capacity passes tokens through
 * @param byHand D numbers: the sum of all contributions
 * @param output D numbers: the layer's own
 */
public record LayerExplanation(
        List<Contribution> routed, List<Contribution> shared, double passed, List<Double> byHand, List<Double> output) {
    /**
     * What one expert adds.
     *
     * @param expert its index, among the routed or the shared ones
     * @param coefficient what really multiplies its output: weight, capacity and the factor of the merge
     * @param proposed {@code ‖FFN_e(x)‖}, the Euclidean length of its output
     */
    public record Contribution(int expert, double coefficient, double proposed) {
        /**
         * The length of what it adds.
         *
         * @return {@code ‖r_e FFN_e(x)‖}
         */
        public double length() {
            return Math.abs(coefficient) * proposed;
        }
    }

    /**
     * Copies the lists.
     *
     * @param routed the chosen experts by rank
     * @param shared the shared experts
     * @param passed what multiplies the token itself
     * @param byHand the sum of all contributions
     * @param output the layer's own
     */
    public LayerExplanation {
        routed = List.copyOf(routed);
        shared = List.copyOf(shared);
        byHand = List.copyOf(byHand);
        output = List.copyOf(output);
        Require.count("byHand", byHand.size(), output.size(), "numbers (of the output)");
    }

    /**
     * Runs a layer on tokens, without noise, and explains one of them.
     *
     * @param layer any, but one with weights on the input and a capacity
     * @param tokens (T×D), finite
     * @param token 0 ≤ token &lt; T
     * @return the explanation
     * @throws IllegalArgumentException for {@code token} out of range
     */
    public static LayerExplanation of(MoeLayer layer, Matrix tokens, int token) {
        ExpertRows.requirePlain(layer);
        Require.inRange("token", token, 0, tokens.rows() - 1, "tokens");
        try (MoePass pass = layer.forward(tokens);
                Matrix made = pass.output()) {
            Coefficients coefficients = pass.coefficients();
            double[] sum = new double[tokens.columns()];
            double[][] rows = ExpertRows.of(layer, tokens, token, pass.routing());
            List<Contribution> routed = new ArrayList<>();
            for (int rank = 0; rank < rows.length; rank++) {
                double coefficient = coefficients.routed(token, rank);
                add(sum, coefficient, rows[rank]);
                routed.add(new Contribution(pass.routing().expert(token, rank), coefficient, length(rows[rank])));
            }
            List<Contribution> shared = new ArrayList<>();
            for (int b = 0;
                    b
                            < layer.shared()
                                    .map(SharedBranch::experts)
                                    .map(List::size)
                                    .orElse(0);
                    b++) {
                double[] row = row(pass.sharedOutputs().get(b), token);
                double coefficient = coefficients.shared(token, b);
                add(sum, coefficient, row);
                shared.add(new Contribution(b, coefficient, length(row)));
            }
            double passed = coefficients.passed(token);
            add(sum, passed, row(tokens, token));
            return new LayerExplanation(routed, shared, passed, boxed(sum), boxed(row(made, token)));
        }
    }

    private static double[] row(Matrix matrix, int row) {
        double[] numbers = new double[matrix.columns()];
        matrix.readRows(row, row + 1, numbers);
        return numbers;
    }

    private static void add(double[] sum, double factor, double[] row) {
        for (int i = 0; factor != 0 && i < sum.length; i++) {
            sum[i] += factor * row[i];
        }
    }

    private static List<Double> boxed(double[] numbers) {
        List<Double> list = new ArrayList<>(numbers.length);
        for (double number : numbers) {
            list.add(number);
        }
        return list;
    }

    private static double length(double[] row) {
        double squares = 0;
        for (double each : row) {
            squares += each * each;
        }
        return Math.sqrt(squares);
    }

    /**
     * The largest difference between the sum of the contributions and the layer's output.
     *
     * @return over all coordinates, at least 0
     */
    public double largestDifference() {
        double largest = 0;
        for (int i = 0; i < output.size(); i++) {
            largest = Math.max(largest, Math.abs(output.get(i) - byHand.get(i)));
        }
        return largest;
    }

    /**
     * The Euclidean length of the layer's output.
     *
     * @return {@code ‖y‖}
     */
    public double outputLength() {
        return length(output.stream().mapToDouble(Double::doubleValue).toArray());
    }

    /**
     * What leaves the block: the layer's output added to the residual stream.
     *
     * @param residual D numbers: what the block's norm was given
     * @return D numbers {@code h + y}
     * @throws IllegalArgumentException for {@code residual} with another number of numbers
     */
    public double[] withResidual(double[] residual) {
        Require.count("residual", residual.length, output.size(), "numbers (hidden size)");
        double[] sum = residual.clone();
        for (int i = 0; i < sum.length; i++) {
            sum[i] += output.get(i);
        }
        return sum;
    }
}
