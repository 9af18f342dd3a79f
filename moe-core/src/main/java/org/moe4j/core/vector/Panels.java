package org.moe4j.core.vector;

/**
 * A weight matrix (out × in) in panels: {@code [out / P][in][P]}, P columns that a kernel computes together. Outputs behind the last
 * are zeros. Which output stands where is the owner's business.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
interface Panels<A> {
    /** Which kernels compute with them. */
    String kind();

    /** Terms of each sum. */
    int inner();

    /** How many. */
    int count();

    /** {@code y[m · yStep + c] += Σ_k x[k · rows + m] · w[panel][k][c]} for some panels on, from {@code xAt} and {@code yAt} on. */
    void multiply(int rows, A x, int xAt, int panel, int panels, A y, int yAt, int yStep);

    /** One number. */
    double get(int panel, int k, int column);

    /** The column of a panel as an array of {@link #inner} numbers. */
    void column(int panel, int column, A into, int at);

    /** The weights of some terms of some panels, in the precision of the sums. */
    Piece<A> piece(int panel, int panels, int fromTerm, int toTerm, Scratch<A> scratch);

    /**
     * Weights of some terms: {@code values[at + (panel − first) · panelStep + (k − from) · P + c]}.
     *
     * @param values of the panels themselves, or of the scratch
     */
    record Piece<A>(A values, int at, int panelStep) {}
}
