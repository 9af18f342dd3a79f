package org.moe4j.router.analysis.intervention;

import java.util.Comparator;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.TokenwiseExperts;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** A random layer, and its definition as loops on plain arrays. */
final class PlainLayer {
    static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    static final int HIDDEN = 6;

    private final MoeLayer layer;
    private final double[][] routerWeight;
    private final TokenwiseExperts.Expert[] bank;

    PlainLayer(RouterConfig config, long seed) {
        TopKRouter router = TopKRouter.random(config, HIDDEN, BACKEND, seed);
        SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(config.experts(), HIDDEN, 4), BACKEND, seed + 1);
        layer = MoeLayer.of(router, experts);
        try (Parameters parameters = layer.parameters()) {
            routerWeight = rows(parameters.get("router.weight"));
            bank = IntStream.range(0, config.experts())
                    .mapToObj(e -> new TokenwiseExperts.Expert(
                            rows(parameters.get("experts." + e + ".gate")),
                            rows(parameters.get("experts." + e + ".up")),
                            rows(parameters.get("experts." + e + ".down"))))
                    .toArray(TokenwiseExperts.Expert[]::new);
        }
    }

    MoeLayer layer() {
        return layer;
    }

    static Matrix tokens(int count, long seed) {
        return Initializer.normal(1).draw(BACKEND, count, HIDDEN, seed);
    }

    static double[][] rows(Matrix matrix) {
        return TokenwiseExperts.rows(matrix.toArray(), matrix.rows(), matrix.columns());
    }

    double[] logits(double[] token) {
        return Stream.of(routerWeight)
                .mapToDouble(row -> TokenwiseExperts.dot(row, token))
                .toArray();
    }

    /** The best experts by a number for each, of some. */
    static List<Integer> best(double[] numbers, int count, IntPredicate allowed) {
        return IntStream.range(0, numbers.length)
                .filter(allowed)
                .boxed()
                .sorted(Comparator.comparing(e -> -numbers[e]))
                .limit(count)
                .toList();
    }

    /** Softmax over some experts; the others have 0. */
    static double[] softmax(double[] logits, IntPredicate among) {
        double[] p = new double[logits.length];
        double sum = 0;
        for (int e = 0; e < p.length; e++) {
            p[e] = among.test(e) ? StrictMath.exp(logits[e]) : 0;
            sum += p[e];
        }
        for (int e = 0; e < p.length; e++) {
            p[e] /= sum;
        }
        return p;
    }

    /** Adds a token's experts times their weights. */
    double[] output(double[] token, List<Integer> experts, double[] weightOfExpert) {
        double[] y = new double[token.length];
        for (int e : experts) {
            double[] one = TokenwiseExperts.expert(token, bank[e]);
            for (int d = 0; d < y.length; d++) {
                y[d] += weightOfExpert[e] * one[d];
            }
        }
        return y;
    }

    /** An expert of a bank of one, as shared experts are. */
    static double[][] shared(SwiGluExperts bank, double[][] tokens) {
        SwiGluWeights weights = bank.expert(0);
        TokenwiseExperts.Expert expert =
                new TokenwiseExperts.Expert(rows(weights.gate()), rows(weights.up()), rows(weights.down()));
        return Stream.of(tokens).map(x -> TokenwiseExperts.expert(x, expert)).toArray(double[][]::new);
    }
}
