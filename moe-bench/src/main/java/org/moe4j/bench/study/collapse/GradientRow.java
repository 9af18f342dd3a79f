package org.moe4j.bench.study.collapse;

/**
 * Gradients of all parameters of a layer in parts, joined, beside those of the layer with one wide expert, from the same tokens and the
 * same gradient of the output.
 *
 * @param backend name of the backend
 * @param single whether that is single precision
 * @param difference {@code max |joined − wide|} over all parameters
 * @param norm {@code max |wide|} over all parameters
 */
public record GradientRow(String backend, boolean single, double difference, double norm) {
    /**
     * Relative difference.
     *
     * @return difference over norm
     */
    public double relative() {
        return difference / norm;
    }
}
