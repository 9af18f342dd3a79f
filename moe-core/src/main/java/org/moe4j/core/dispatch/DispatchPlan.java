package org.moe4j.core.dispatch;

import java.util.Arrays;
import java.util.Objects;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.internal.Require;

/**
 * The permutation between tokens and the rows of experts: dispatch, combine and the adjoints of both.
 *
 * <p>A counting sort of the slots by expert, stable: rows of an expert follow the order of tokens. A dropped slot has no
 * row, contributes zero and gets a weight gradient of zero. Each slot owns at most one row and each row one slot, so
 * both adjoints are gathers too and no two writes ever meet.
 */
public final class DispatchPlan {
    private final Routing routing;
    private final RowGroups groups;
    private final int[] rowTokens; // N: source token of each row
    private final int[] rowSlots; // N: slot of each row
    private final int perToken; // K, at least 1
    private final int firstToken; // of the tokens that are combined
    private final int[] tokenRows; // tokens·perToken: row of each rank, or −1
    private final double[] tokenWeights; // tokens·perToken
    private final int dropped;

    private DispatchPlan(Routing routing, Capacity capacity, int firstToken, int endToken, int[] skipped) {
        this.routing = routing;
        this.firstToken = firstToken;
        perToken = Math.max(1, routing.topK());
        int limit = capacity.rowsPerExpert(routing);
        tokenRows = new int[(endToken - firstToken) * perToken];
        tokenWeights = new double[tokenRows.length];
        Arrays.fill(tokenRows, -1);

        int[] kept = new int[routing.experts()];
        int lost = 0;
        for (int t = firstToken; t < endToken; t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                int expert = routing.expert(t, rank);
                if (skipped[expert] + kept[expert] < limit) {
                    kept[expert]++;
                } else {
                    lost++;
                }
            }
        }
        dropped = lost;
        groups = RowGroups.ofSizes(kept);
        rowTokens = new int[groups.rows()];
        rowSlots = new int[groups.rows()];
        int[] next = new int[kept.length];
        Arrays.setAll(next, groups::from);
        for (int t = firstToken; t < endToken; t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                int expert = routing.expert(t, rank);
                int place = (t - firstToken) * perToken + rank;
                tokenWeights[place] = routing.weight(t, rank);
                if (next[expert] < groups.to(expert)) {
                    int row = next[expert]++;
                    rowTokens[row] = t;
                    rowSlots[row] = routing.slot(t, rank);
                    tokenRows[place] = row;
                }
            }
        }
    }

    /**
     * The plan for all tokens of a routing.
     *
     * @param routing where tokens go
     * @param capacity what an expert may take
     * @return the plan
     */
    public static DispatchPlan of(Routing routing, Capacity capacity) {
        return new DispatchPlan(routing, capacity, 0, routing.tokens(), new int[routing.experts()]);
    }

    /**
     * The part of the plan of all tokens that concerns a run of them: what is dropped is decided over all tokens, so
     * that working in parts gives what working at once gives.
     *
     * @param routing where tokens go
     * @param capacity what an expert may take of all tokens
     * @param fromToken first token of the part
     * @param toToken end of the part, exclusive
     * @return a plan that dispatches from all tokens and combines to the tokens of the part
     */
    public static DispatchPlan ofTokens(Routing routing, Capacity capacity, int fromToken, int toToken) {
        Objects.checkFromToIndex(fromToken, toToken, routing.tokens());
        int[] skipped = new int[routing.experts()];
        for (int t = 0; t < fromToken; t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                skipped[routing.expert(t, rank)]++;
            }
        }
        return new DispatchPlan(routing, capacity, fromToken, toToken, skipped);
    }

    /**
     * The rows of each expert.
     *
     * @return N rows in E groups
     */
    public RowGroups groups() {
        return groups;
    }

    /**
     * Source token of each row.
     *
     * @return N indices, copied
     */
    public int[] rows() {
        return rowTokens.clone();
    }

    /**
     * Assignments that no expert took.
     *
     * @return at least 0
     */
    public int dropped() {
        return dropped;
    }

    /**
     * Whether an assignment was dropped.
     *
     * @param token a token of the plan
     * @param rank its rank
     * @return true when no expert took it
     */
    public boolean isDropped(int token, int rank) {
        routing.slot(token, rank); // checks both
        Objects.checkIndex(token - firstToken, tokenRows.length / perToken);
        return tokenRows[(token - firstToken) * perToken + rank] < 0;
    }

    /**
     * Rows for the experts: {@code y_i = tokens[rows_i]}.
     *
     * @param tokens (T×D)
     * @return (N×D)
     */
    public Matrix dispatch(Matrix tokens) {
        Require.count("tokens", tokens.rows(), routing.tokens(), "rows (tokens of the routing)");
        return tokens.backend().gatherRows(tokens, rowTokens);
    }

    /**
     * Adjoint of {@link #dispatch}: adds the rows of each token.
     *
     * @param dGrouped (N×D)
     * @return (T×D)
     */
    public Matrix dispatchBackward(Matrix dGrouped) {
        requireRows("dGrouped", dGrouped);
        double[] ones = new double[tokenRows.length];
        Arrays.fill(ones, 1.0);
        return dGrouped.backend().sumRows(dGrouped, tokenRows, ones, perToken);
    }

    /**
     * Weighted sum back to tokens: {@code y_t = Σ_j w_tj · expertOutputs[row_tj]}, in the order of ranks.
     *
     * @param expertOutputs (N×D)
     * @return (T×D)
     */
    public Matrix combine(Matrix expertOutputs) {
        requireRows("expertOutputs", expertOutputs);
        return expertOutputs.backend().sumRows(expertOutputs, tokenRows, tokenWeights, perToken);
    }

    /**
     * Adjoint of {@link #combine} in both of its arguments.
     *
     * @param expertOutputs (N×D), as given forward
     * @param dOutput (T×D)
     * @return gradients of the expert outputs and of the weights
     */
    public CombineGradients combineBackward(Matrix expertOutputs, Matrix dOutput) {
        requireRows("expertOutputs", expertOutputs);
        Require.count("dOutput", dOutput.rows(), tokenRows.length / perToken, "rows (tokens of the plan)");
        Backend backend = expertOutputs.backend();
        int[] local = new int[rowTokens.length];
        double[] scales = new double[rowTokens.length];
        for (int i = 0; i < local.length; i++) {
            local[i] = rowTokens[i] - firstToken;
        }
        for (int place = 0; place < tokenRows.length; place++) {
            if (tokenRows[place] >= 0) {
                scales[tokenRows[place]] = tokenWeights[place];
            }
        }
        try (Matrix gathered = backend.gatherRows(dOutput, local)) {
            double[] dots = backend.rowDots(expertOutputs, gathered);
            double[] dWeights = new double[routing.slots()];
            for (int i = 0; i < dots.length; i++) {
                dWeights[rowSlots[i]] = dots[i];
            }
            return new CombineGradients(backend.scaleRows(gathered, scales), dWeights);
        }
    }

    private void requireRows(String argument, Matrix rows) {
        Require.count(argument, rows.rows(), groups.rows(), "rows (rows of the plan)");
    }

    /**
     * Gradients of {@link #combine}.
     *
     * @param expertOutputs (N×D)
     * @param weights one per slot of the routing, 0 where dropped
     */
    @SuppressWarnings("ArrayRecordComponent") // handed over once, inside the pipeline
    public record CombineGradients(Matrix expertOutputs, double[] weights) {}
}
