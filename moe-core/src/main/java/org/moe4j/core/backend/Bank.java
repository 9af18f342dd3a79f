package org.moe4j.core.backend;

/**
 * The weights of E SwiGLU experts, held once in a backend's own layout and run fused.
 *
 * <p>For row i of group e, with {@code x = tokens[rows_i]}: {@code y_i = (silu(x·gate_eᵀ) ⊙ (x·up_eᵀ)) · down_eᵀ}.
 */
public interface Bank extends AutoCloseable {
    /**
     * Runs the bank and keeps what backward needs.
     *
     * @param tokens (T×D)
     * @param rows N indices into the rows of tokens, group after group
     * @param groups N rows in E groups
     * @return the pass; its output is (N×D)
     */
    BankPass forward(Matrix tokens, int[] rows, RowGroups groups);

    /**
     * Runs the bank and keeps nothing.
     *
     * @param tokens (T×D)
     * @param rows N indices into the rows of tokens, group after group
     * @param groups N rows in E groups
     * @return (N×D)
     */
    Matrix apply(Matrix tokens, int[] rows, RowGroups groups);

    /**
     * Gate projection of one expert, in the layout of checkpoints.
     *
     * @param expert index of the expert
     * @return a handle of its own (F×D)
     */
    Matrix gate(int expert);

    /**
     * Up projection of one expert.
     *
     * @param expert index of the expert
     * @return a handle of its own (F×D)
     */
    Matrix up(int expert);

    /**
     * Down projection of one expert.
     *
     * @param expert index of the expert
     * @return a handle of its own (D×F)
     */
    Matrix down(int expert);

    /** Releases the weights; doing so again changes nothing. Any other use afterwards is an {@link IllegalStateException},
     * but a pass made before stays usable until it is closed itself. */
    @Override
    void close();
}
