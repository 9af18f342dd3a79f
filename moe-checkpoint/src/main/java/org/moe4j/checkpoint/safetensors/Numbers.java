package org.moe4j.checkpoint.safetensors;

/** Numbers in a row, as a tensor means them, whatever they are stored as. */
public interface Numbers {
    /**
     * Reads numbers that follow one another.
     *
     * @param from index of the first, in row-major order
     * @param into gets them
     * @param at index in {@code into} of the first
     * @param count how many
     */
    void read(long from, double[] into, int at, int count);
}
