package org.moe4j.bench.layer;

/**
 * The random numbers of one call as data. The definition takes them from the library, so that all that follows from them is
 * defined here; each array has no numbers where nothing is drawn.
 *
 * @param tokenFactors T·D: by which the layer multiplies the tokens
 * @param routerFactors T·D: by which the router multiplies what it is given
 * @param logitNoise T·E standard normal numbers
 * @param second T: the second expert that a token goes to, or −1 for none
 */
@SuppressWarnings("ArrayRecordComponent") // test data
record Draws(double[] tokenFactors, double[] routerFactors, double[] logitNoise, int[] second) {
    static final Draws NONE = new Draws(new double[0], new double[0], new double[0], new int[0]);
}
