package org.moe4j.core.dispatch;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.internal.Require;

/**
 * The permutation between tokens and the rows of experts: dispatch, combine and the adjoints of both.
 *
 * <p>A counting sort of the slots by expert, stable: rows of an expert follow the order of tokens, in whatever order they
 * were admitted. A dropped slot has no row, contributes zero and gets a weight gradient of zero. Each slot owns at most one
 * row and each row one slot, so both adjoints are gathers too and no two writes ever meet.
 */
public final class DispatchPlan {
    private final Routing routing;
    private final Admission admission;
    private final RowGroups groups;
    private final int[] rowTokens; // N: source token of each row
    private final int[] rowSlots; // N: slot of each row
    private final int perToken; // K, at least 1
    private final int firstToken; // of the tokens that are combined
    private final int[] tokenRows; // tokens·perToken: row of each rank, or −1
    private final double[] tokenWeights; // tokens·perToken
    private final int dropped;

    private DispatchPlan(Admission admission, int firstToken, int endToken) {
        this.admission = admission;
        this.firstToken = firstToken;
        routing = admission.routing();
        perToken = Math.max(1, routing.topK());
        tokenRows = new int[(endToken - firstToken) * perToken];
        tokenWeights = new double[tokenRows.length];
        Arrays.fill(tokenRows, -1);

        int[] kept = new int[routing.experts()];
        for (int t = firstToken; t < endToken; t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                kept[routing.expert(t, rank)] += admission.isDropped(t, rank) ? 0 : 1;
            }
        }
        groups = RowGroups.ofSizes(kept);
        rowTokens = new int[groups.rows()];
        rowSlots = new int[groups.rows()];
        dropped = routing.slotsBefore(endToken) - routing.slotsBefore(firstToken) - groups.rows();
        int[] next = kept; // counted, they are not needed any more
        for (int g = 0; g < next.length; g++) {
            next[g] = groups.from(g);
        }
        for (int t = firstToken; t < endToken; t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                if (!admission.isDropped(t, rank)) {
                    int row = next[routing.expert(t, rank)]++;
                    int place = (t - firstToken) * perToken + rank;
                    rowTokens[row] = t;
                    rowSlots[row] = routing.slot(t, rank);
                    tokenRows[place] = row;
                    tokenWeights[place] = admission.weight(t, rank);
                }
            }
        }
    }

    /**
     * The plan for all tokens of a routing, which are one sequence.
     *
     * @param routing where tokens go
     * @param capacity what an expert may take
     * @return the plan
     */
    public static DispatchPlan of(Routing routing, Capacity capacity) {
        return of(Admission.of(routing, capacity, List.of()));
    }

    /**
     * The plan for all tokens.
     *
     * @param admission which assignments the experts take
     * @return the plan
     */
    public static DispatchPlan of(Admission admission) {
        return new DispatchPlan(admission, 0, admission.routing().tokens());
    }

    /**
     * The part of the plan of all tokens that concerns a run of them.
     *
     * @param admission which assignments of all tokens the experts take
     * @param fromToken first token of the part
     * @param toToken end of the part, exclusive
     * @return a plan that dispatches from all tokens and combines to the tokens of the part
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public static DispatchPlan ofTokens(Admission admission, int fromToken, int toToken) {
        Objects.checkFromToIndex(fromToken, toToken, admission.routing().tokens());
        return new DispatchPlan(admission, fromToken, toToken);
    }

    /**
     * Which assignments the experts take, and with which weights.
     *
     * @return of all tokens
     */
    public Admission admission() {
        return admission;
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
     * Assignments of the tokens of the plan that no expert took.
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
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public boolean isDropped(int token, int rank) {
        Objects.checkIndex(token - firstToken, tokenRows.length / perToken);
        return admission.isDropped(token, rank);
    }

    /**
     * Rows for the experts: {@code y_i = tokens[rows_i]}.
     *
     * @param tokens (T×D)
     * @return (N×D)
     * @throws IllegalArgumentException for {@code tokens} with another number of rows
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
     * @throws IllegalArgumentException for another number of rows than the plan has
     */
    public Matrix dispatchBackward(Matrix dGrouped) {
        requireRows("dGrouped", dGrouped);
        double[] ones = new double[tokenRows.length];
        Arrays.fill(ones, 1.0);
        return dGrouped.backend().sumRows(dGrouped, tokenRows, ones, perToken);
    }

    /**
     * Weighted sum back to tokens: {@code y_t = Σ_j w_tj · expertOutputs[row_tj]}, in the order of ranks, with the weights of
     * the {@link Admission}. What passes through unserved is added by {@link #addPassed}.
     *
     * @param expertOutputs (N×D)
     * @return (T×D)
     * @throws IllegalArgumentException for another number of rows than the plan has
     */
    public Matrix combine(Matrix expertOutputs) {
        requireRows("expertOutputs", expertOutputs);
        return expertOutputs.backend().sumRows(expertOutputs, tokenRows, tokenWeights, perToken);
    }

    /**
     * Runs a bank on the rows of the plan and writes what {@link #combine} gives of them, in one.
     *
     * @param bank E experts
     * @param tokens (T×D), all tokens of the routing
     * @param output a buffer (M×D); it may be the tokens
     * @param at its first row that is written: that of the first token of the plan
     */
    public void applySummed(Bank bank, Matrix tokens, Matrix output, int at) {
        bank.applySummed(tokens, rowTokens, groups, tokenRows, tokenWeights, perToken, output, at);
    }

    /**
     * Whether some tokens of the plan pass their experts by, so that {@link #addPassed} adds something.
     *
     * @return false wherever unserved tokens give zeros
     */
    public boolean passes() {
        boolean any = false;
        for (int t = firstToken; admission.mayPass() && t < firstToken + tokenRows.length / perToken; t++) {
            any |= admission.passed(t) != 0;
        }
        return any;
    }

    /**
     * Adjoint of {@link #combine} in both of its arguments.
     *
     * @param expertOutputs (N×D), as given forward
     * @param dOutput (T×D)
     * @return gradients of the expert outputs and of the weights
     * @throws IllegalArgumentException for another number of rows than the plan, or of tokens, has
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
            return new CombineGradients(backend.scaleRows(gathered, scales), admission.backward(dWeights));
        }
    }

    /**
     * Adds the tokens that no expert took, each times what {@link Admission#passed} says. The map from tokens is diagonal, so
     * that for a plan of all tokens the adjoint is the same call: {@code addPassed(dTokens, dRouted)}.
     *
     * @param routed (T×D), or the rows of a part; closed, or handed back when nothing passes through
     * @param tokens (T×D), all tokens of the routing
     * @return {@code routed_t + passed_t · tokens_t}; it belongs to the caller
     * @throws IllegalArgumentException for another number of rows than the plan, or the routing, has
     */
    public Matrix addPassed(Matrix routed, Matrix tokens) {
        int count = tokenRows.length / perToken;
        Require.count("routed", routed.rows(), count, "rows (tokens of the plan)");
        Require.count("tokens", tokens.rows(), routing.tokens(), "rows (tokens of the routing)");
        if (!passes()) {
            return routed;
        }
        int[] rows = new int[count];
        double[] factors = new double[count];
        for (int i = 0; i < count; i++) {
            factors[i] = admission.passed(firstToken + i);
            rows[i] = factors[i] == 0 ? -1 : firstToken + i;
        }
        try (routed;
                Matrix passed = tokens.backend().sumRows(tokens, rows, factors, 1)) {
            return routed.backend().add(routed, passed);
        }
    }

    /**
     * Adds the gradients of the weights of tokens that passed through with them: {@code ⟨tokens_t, dRouted_t⟩} to each weight of
     * such a token, nothing unless {@link UnservedTokens#PASSED_WEIGHTED}.
     *
     * @param dWeights one per slot of the routing; changed
     * @param tokens (T×D)
     * @param dRouted (T×D)
     */
    public void addPassedWeights(double[] dWeights, Matrix tokens, Matrix dRouted) {
        if (admission.passesWeighted()) {
            admission.addPassed(dWeights, tokens.backend().rowDots(tokens, dRouted));
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
