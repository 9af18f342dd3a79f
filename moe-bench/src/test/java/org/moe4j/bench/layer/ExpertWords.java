package org.moe4j.bench.layer;

/**
 * What an expert computes, in the words and numbers of the preset files.
 *
 * @param activation {@code swiglu}, {@code clamped-swiglu}, {@code silu}, {@code relu}, {@code relu-squared}, {@code gelu-exact} or
 *     {@code gelu-tanh}
 * @param alpha factor in the sigmoid of {@code clamped-swiglu}
 * @param limit where {@code clamped-swiglu} clamps
 * @param offset added to the linear half of {@code clamped-swiglu}
 * @param biases whether every product has a bias
 */
record ExpertWords(String activation, double alpha, double limit, double offset, boolean biases) {
    static final ExpertWords SWIGLU = of("swiglu", false);

    /** Any activation but the clamped one. */
    static ExpertWords of(String activation, boolean biases) {
        return new ExpertWords(activation, 1, Double.POSITIVE_INFINITY, 0, biases);
    }

    /** Whether there is a gate beside the up projection. */
    boolean gated() {
        return activation.endsWith("swiglu");
    }

    @Override
    public String toString() {
        String named = activation.equals("clamped-swiglu")
                ? activation + "(" + alpha + ", " + limit + ", " + offset + ")"
                : activation;
        return biases ? named + " with biases" : named;
    }
}
