package org.moe4j.core.expert;

import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.parameter.Parameters;

/** A bank of experts run on grouped rows. It knows nothing of routers: routing arrives as data. */
public interface Experts extends AutoCloseable {
    /**
     * Sizes of the bank.
     *
     * @return E, D, F
     */
    ExpertShape shape();

    /**
     * Where the bank runs.
     *
     * @return the backend of its weights
     */
    Backend backend();

    /**
     * Runs the experts and keeps what backward needs. Row i of the groups is {@code tokens[rows_i]}; the bank gathers
     * the rows itself, so that it can pack them.
     *
     * @param tokens (T×D)
     * @param rows N indices into the tokens, group after group
     * @param groups N rows in E groups
     * @return the pass; its output is (N×D)
     */
    ExpertsPass forward(Matrix tokens, int[] rows, RowGroups groups);

    /**
     * The same, keeping nothing.
     *
     * @param tokens (T×D)
     * @param rows N indices into the tokens, group after group
     * @param groups N rows in E groups
     * @return (N×D)
     */
    Matrix apply(Matrix tokens, int[] rows, RowGroups groups);

    /**
     * Runs the experts on the rows of a plan, keeps nothing, and writes the weighted sums of the plan's tokens.
     *
     * @param tokens (T×D), all tokens of the plan's routing
     * @param plan which row belongs to which expert and token
     * @param output a buffer (M×D); it may be the tokens
     * @param at its first row that is written
     */
    default void applyCombined(Matrix tokens, DispatchPlan plan, Matrix output, int at) {
        try (Matrix y = apply(tokens, plan.rows(), plan.groups());
                Matrix combined = plan.combine(y)) {
            backend().accumulate(0, output, at, combined);
        }
    }

    /**
     * All weights; the handles belong to the caller.
     *
     * @return named {@code <expert>.<projection>}
     */
    Parameters parameters();

    /**
     * A bank with other weights.
     *
     * @param parameters the same names and shapes
     * @return a new bank; this one stays as it is
     */
    Experts withParameters(Parameters parameters);

    /** Releases the weights. */
    @Override
    void close();
}
