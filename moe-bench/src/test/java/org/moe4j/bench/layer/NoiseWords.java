package org.moe4j.bench.layer;

/**
 * Noise in plain words: what acts when a call has a seed.
 *
 * @param kind {@code none}, {@code input-jitter}, {@code fixed-normal} or {@code learned-normal}: of the router
 * @param number its epsilon, deviation or floor
 * @param tokenEpsilon of the jitter of the layer's tokens; 0 for none
 */
record NoiseWords(String kind, double number, double tokenEpsilon) {
    static final NoiseWords NONE = new NoiseWords("none", 0, 0);

    /** Whether there is a parameter {@code router.noise}. */
    boolean learned() {
        return kind.equals("learned-normal");
    }

    boolean addsToLogits() {
        return kind.endsWith("normal");
    }
}
