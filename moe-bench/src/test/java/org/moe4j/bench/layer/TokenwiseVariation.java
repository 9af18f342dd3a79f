package org.moe4j.bench.layer;

import java.util.Arrays;
import java.util.List;
import java.util.stream.DoubleStream;
import org.moe4j.bench.layer.TokenwiseLosses.Seen;
import org.moe4j.bench.layer.TokenwiseRouter.Choice;

/** The squared coefficients of variation of the two noisy routers: no code of the library is used. */
final class TokenwiseVariation {
    private final Seen seen;
    private final int experts;
    private final int topK;

    TokenwiseVariation(Seen seen) {
        this.seen = seen;
        experts = seen.router().experts();
        topK = seen.router().topK();
    }

    double formula(String formula) {
        if (formula.startsWith("shazeer")) {
            return variation(sums(formula, seen.valid()), 1e-10);
        }
        return seen.validSequences().stream()
                .mapToDouble(tokens -> variation(sums(formula, tokens), 0))
                .average()
                .orElse(0);
    }

    private double[] sums(String formula, List<Integer> tokens) {
        double[] sums = new double[experts];
        for (int t : tokens) {
            double[] part =
                    switch (formula) {
                        case "shazeer-importance" -> gates(seen.choices().get(t));
                        case "shazeer-load" -> shazeerLoad(t);
                        case "vmoe-importance" -> Plain.softmax(seen.clean().get(t));
                        case "vmoe-load" -> vmoeLoad(t);
                        default -> throw new IllegalArgumentException("loss " + formula);
                    };
            Plain.add(sums, 0, 1, part);
        }
        return sums;
    }

    /** Population variance by the square of the mean. */
    private static double variation(double[] sums, double epsilon) {
        double mean = DoubleStream.of(sums).average().orElseThrow();
        double variance = DoubleStream.of(sums)
                .map(sum -> (sum - mean) * (sum - mean))
                .average()
                .orElseThrow();
        return variance / (mean * mean + epsilon);
    }

    private double[] gates(Choice choice) {
        double[] gates = new double[experts];
        for (int rank = 0; rank < choice.experts().length; rank++) {
            gates[choice.experts()[rank]] = choice.weights()[rank];
        }
        return gates;
    }

    /**
     * The probability that an expert were among the K best if its noise alone were drawn anew: it has to beat the (K+1)-th
     * largest of all if it is among them, and the K-th largest if it is not. Without noise, or with K = E, the number of gates
     * above 0.
     */
    private double[] shazeerLoad(int token) {
        if (seen.deviations().isEmpty() || topK == experts) {
            return DoubleStream.of(gates(seen.choices().get(token)))
                    .map(Math::signum)
                    .toArray();
        }
        double[] noisy = seen.logits().get(token);
        double[] sorted = noisy.clone();
        Arrays.sort(sorted);
        double[] load = new double[experts];
        for (int e = 0; e < experts; e++) {
            double ifIn = sorted[experts - topK - 1];
            double threshold = noisy[e] > ifIn ? ifIn : sorted[experts - topK];
            load[e] = Plain.normal(
                    (seen.clean().get(token)[e] - threshold) / seen.deviations().get(token)[e]);
        }
        return load;
    }

    /** The same with the K-th largest of all for every expert. */
    private double[] vmoeLoad(int token) {
        double[] sorted = seen.logits().get(token).clone();
        Arrays.sort(sorted);
        double[] load = new double[experts];
        for (int e = 0; e < experts; e++) {
            double required = sorted[experts - topK] - seen.clean().get(token)[e];
            load[e] = 1 - Plain.normal(required / seen.deviations().get(token)[e]);
        }
        return load;
    }
}
