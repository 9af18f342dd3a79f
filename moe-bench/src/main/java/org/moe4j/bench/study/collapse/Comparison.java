package org.moe4j.bench.study.collapse;

/**
 * Two things that are the same but for rounding, or are shown not to be, on one backend.
 *
 * @param part of the study: gradient or routed
 * @param about what is compared
 * @param same whether they have to be the same
 * @param backend name of the backend
 * @param single whether that is single precision
 * @param difference {@code max |a − b|}
 * @param norm {@code max |a|}
 */
public record Comparison(
        String part, String about, boolean same, String backend, boolean single, double difference, double norm) {
    /**
     * Relative difference.
     *
     * @return difference over norm
     */
    public double relative() {
        return difference / norm;
    }
}
