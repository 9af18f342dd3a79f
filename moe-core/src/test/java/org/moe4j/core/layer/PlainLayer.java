package org.moe4j.core.layer;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.moe4j.core.testing.TokenwiseExperts;
import org.moe4j.core.testing.TokenwiseExperts.Expert;

/**
 * A random layer on plain arrays, one token after another: latent projections or none, weights on either side, a limit of rows
 * or none, tokens that pass through, up to two shared experts under {@link WeightedMerge}.
 */
final class PlainLayer {
    final int experts;
    final int topK;
    final int hidden;
    final int latent; // 0 for none
    final int width;
    final int shared;
    final boolean weightsInput;
    final double factor; // of capacity; 0 for none
    final boolean passes;
    final int[][] chosen;
    final double[] tokens;
    final Map<String, double[]> parameters = new LinkedHashMap<>();

    PlainLayer(long seed, int count) {
        SplittableRandom random = new SplittableRandom(seed);
        experts = random.nextInt(1, 5);
        weightsInput = random.nextBoolean();
        topK = weightsInput ? 1 : random.nextInt(1, experts + 1);
        hidden = random.nextInt(1, 10);
        latent = random.nextInt(3) == 0 ? 0 : random.nextInt(1, 10);
        width = random.nextInt(1, 10);
        shared = random.nextInt(3);
        factor = random.nextBoolean() ? 0 : random.nextDouble(.3, 1.2);
        passes = factor > 0 && random.nextBoolean();
        tokens = numbers(random, count * hidden, 1);
        chosen = new int[count][topK];
        for (int[] token : chosen) {
            int first = random.nextInt(experts);
            for (int rank = 0; rank < topK; rank++) {
                token[rank] = (first + rank) % experts;
            }
        }
        parameters.put("router.weight", numbers(random, experts * hidden, 1));
        int inner = latent == 0 ? hidden : latent;
        for (int e = 0; e < experts; e++) {
            expert(random, "experts." + e, inner);
        }
        if (latent > 0) {
            parameters.put("latent.down", numbers(random, latent * hidden, 1 / Math.sqrt(hidden)));
            parameters.put("latent.up", numbers(random, hidden * latent, 1 / Math.sqrt(latent)));
        }
        for (int i = 0; i < shared; i++) {
            expert(random, "shared." + i, hidden);
        }
    }

    private void expert(SplittableRandom random, String name, int in) {
        parameters.put(name + ".gate", numbers(random, width * in, 1 / Math.sqrt(in)));
        parameters.put(name + ".up", numbers(random, width * in, 1 / Math.sqrt(in)));
        parameters.put(name + ".down", numbers(random, in * width, 1 / Math.sqrt(width)));
    }

    /** Numbers that a float holds, so that every backend starts from the same ones. */
    static double[] numbers(SplittableRandom random, int count, double deviation) {
        return random.doubles(count).map(u -> (float) (deviation * (2 * u - 1))).toArray();
    }

    /** T·D numbers; the given factors multiply the tokens first. */
    double[] output(double[] jitter) {
        double[] y = new double[tokens.length];
        int[] taken = new int[experts];
        double[] x = new double[hidden];
        for (int t = 0; t < chosen.length; t++) {
            for (int d = 0; d < hidden; d++) {
                x[d] = tokens[t * hidden + d] * jitter[t * hidden + d];
            }
            double[] routed = routed(x, chosen[t], taken);
            for (int d = 0; d < hidden; d++) {
                y[t * hidden + d] = routed[d] * (merged() ? 2 : 1);
            }
            for (int i = 0; i < shared; i++) {
                double[] one = TokenwiseExperts.expert(x, expert("shared." + i, hidden));
                for (int d = 0; d < hidden; d++) {
                    y[t * hidden + d] += 3 * one[d];
                }
            }
        }
        return y;
    }

    boolean merged() {
        return shared > 0;
    }

    /** Rows that an expert may take. */
    private int limit() {
        return factor == 0 ? chosen.length : (int) Math.ceil((double) chosen.length * topK / experts * factor);
    }

    private double[] routed(double[] x, int[] chosenOfToken, int[] taken) {
        double[] in = latent == 0 ? x : product("latent.down", x);
        double[] sum = new double[in.length];
        boolean served = false;
        for (int e : chosenOfToken) {
            if (taken[e] == limit()) {
                continue;
            }
            taken[e]++;
            served = true;
            double w = 0;
            for (int d = 0; d < hidden; d++) {
                w += x[d] * parameters.get("router.weight")[e * hidden + d];
            }
            double[] weighted = in.clone();
            for (int d = 0; weightsInput && d < weighted.length; d++) {
                weighted[d] *= w;
            }
            double[] one = TokenwiseExperts.expert(weighted, expert("experts." + e, in.length));
            for (int d = 0; d < sum.length; d++) {
                sum[d] += (weightsInput ? 1 : w) * one[d];
            }
        }
        double[] y = latent == 0 ? sum : product("latent.up", sum);
        for (int d = 0; passes && !served && d < hidden; d++) {
            y[d] += x[d];
        }
        return y;
    }

    private double[] product(String name, double[] x) {
        double[] weight = parameters.get(name);
        double[] y = new double[weight.length / x.length];
        for (int i = 0; i < weight.length; i++) {
            y[i / x.length] += weight[i] * x[i % x.length];
        }
        return y;
    }

    private Expert expert(String name, int in) {
        return new Expert(
                TokenwiseExperts.rows(parameters.get(name + ".gate"), width, in),
                TokenwiseExperts.rows(parameters.get(name + ".up"), width, in),
                TokenwiseExperts.rows(parameters.get(name + ".down"), in, width));
    }

    @Override
    public String toString() {
        return "E " + experts + ", K " + topK + ", D " + hidden + ", L " + latent + ", F " + width + ", shared "
                + shared + (weightsInput ? ", weights on the input" : "") + ", factor " + factor
                + (passes ? ", passing" : "");
    }
}
