package org.moe4j.core.vector;

/** How {@link VectorBackend} keeps the weights of experts. Sums are those of the backend's precision whatever the storage. */
public enum WeightStorage {
    /**
     * In 16 bits where every weight of the bank is a bfloat16 or a binary16, so that nothing is lost, and in the backend's precision
     * otherwise. Results have the same bits either way.
     */
    EXACT,
    /** In the backend's precision. */
    FULL
}
