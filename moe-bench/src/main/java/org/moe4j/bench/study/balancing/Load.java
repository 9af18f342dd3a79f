package org.moe4j.bench.study.balancing;

import java.util.Arrays;

/**
 * How uneven the load of the experts is, from the tokens that each of them got.
 *
 * @param maxOverMean tokens of the fullest expert over the mean: 1 is even, E/K the most
 * @param variation standard deviation over the mean: 0 is even
 */
record Load(double maxOverMean, double variation) {
    /** Of counts that are not all 0. */
    static Load of(int[] tokensPerExpert) {
        double mean = Arrays.stream(tokensPerExpert).average().orElseThrow();
        double squares = 0;
        int max = 0;
        for (int count : tokensPerExpert) {
            squares += (count - mean) * (count - mean);
            max = Math.max(max, count);
        }
        return new Load(max / mean, Math.sqrt(squares / tokensPerExpert.length) / mean);
    }
}
