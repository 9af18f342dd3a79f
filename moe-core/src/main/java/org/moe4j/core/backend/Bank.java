package org.moe4j.core.backend;

/**
 * The weights of E experts, held once in a backend's own layout and run fused.
 *
 * <p>For row i of group e, with {@code x = tokens[rows_i]}: {@code y_i = a(x·gate_eᵀ, x·up_eᵀ) · down_eᵀ} with the
 * {@link Activation} a; without a gate {@code a(x·up_eᵀ)}; with biases each of the products has its own added to it.
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
     * Runs the bank, keeps nothing, and writes weighted sums of its rows: {@code output[at + t] = Σ_j scales_tj · y[sums_tj]}. The bits
     * are those of {@link #apply}, {@link Backend#sumRows} and {@link Backend#accumulate} one after another, which is what the default
     * does; a bank that can do without the matrices between them says so here.
     *
     * @param tokens (T×D)
     * @param rows N indices into the rows of tokens, group after group
     * @param groups N rows in E groups
     * @param sums indices into the N rows, or −1 for nothing, {@code perSum} for each row of the output
     * @param scales as many factors
     * @param perSum terms of each sum, at least 1
     * @param output a {@link Backend#buffer} (M×D); it may be the tokens
     * @param at its first row that is written
     */
    default void applySummed(
            Matrix tokens,
            int[] rows,
            RowGroups groups,
            int[] sums,
            double[] scales,
            int perSum,
            Matrix output,
            int at) {
        Backend backend = output.backend();
        try (Matrix y = apply(tokens, rows, groups);
                Matrix summed = backend.sumRows(y, sums, scales, perSum)) {
            backend.accumulate(0, output, at, summed);
        }
    }

    /**
     * Weights of one expert, in the layout of checkpoints.
     *
     * @param part one of the bank's parts
     * @param expert index of the expert
     * @return a handle of its own, of the shape {@link BankPart} says
     */
    Matrix weight(BankPart part, int expert);

    /** Releases the weights; doing so again changes nothing. Any other use afterwards is an {@link IllegalStateException},
     * but a pass made before stays usable until it is closed itself. */
    @Override
    void close();
}
