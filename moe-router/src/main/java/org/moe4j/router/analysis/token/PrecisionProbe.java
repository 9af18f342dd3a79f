package org.moe4j.router.analysis.token;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKRouter;

/**
 * Whether the precision of the router's product moves a choice: the logits of the same tokens and weights in several precisions, and what
 * each makes of them (the article on OLMoE-1B-7B, LLM Architecture Refresh 5, §2). After the logits everything is
 * {@code double}, and equal scores go to the lower index, as in every router of this library.
 *
 * <p>Tokens may come in any number of blocks. Not for use by several threads.
 */
public final class PrecisionProbe {
    private static final List<Pair> PAIRS = List.of(new Pair(0, 1), new Pair(0, 2), new Pair(1, 2));

    private final RouterConfig config;
    private final Optional<SelectionBias> selectionBias;
    private final int width;
    private final List<Product> products = new ArrayList<>();
    private final double[] largestLogit = new double[PAIRS.size()];
    private final double[] largestScore = new double[PAIRS.size()];
    private final long[] same = new long[PAIRS.size()];
    private long tokens;

    /** What a logit {@code Σ_i w_ei x_i + b_e} is computed in. Sums run in the order of the columns, the bias comes last. */
    public enum Precision {
        /**
         * Token, weight and bias are rounded to bfloat16, to the nearest, ties to even, by way of single precision; products of two
         * such numbers are exact in single precision, in which the sums are rounded; the logit is rounded to bfloat16.
         */
        BFLOAT16,
        /** Token, weight and bias are rounded to single precision, and so is every product and every sum. */
        FLOAT32,
        /** Nothing is rounded but products and sums, to double. */
        DOUBLE;

        /** A token's number, or a weight, as this precision holds it. */
        double rounded(double value) {
            return switch (this) {
                case BFLOAT16 -> bfloat16((float) value);
                case FLOAT32 -> (float) value;
                case DOUBLE -> value;
            };
        }

        private static float bfloat16(float value) {
            int bits = Float.floatToRawIntBits(value);
            int rounded = bits + 0x7fff + (bits >>> 16 & 1);
            return Float.isFinite(value) ? Float.intBitsToFloat(rounded & 0xffff_0000) : value;
        }
    }

    /** Two of the products. */
    private record Pair(int of, int than) {}

    /**
     * What changes between two precisions.
     *
     * @param of the one
     * @param than the other
     * @param largestLogitChange of any logit of any token
     * @param largestScoreChange of any score of any token
     * @param sameExperts tokens whose set of experts is the same, in whatever order
     * @param tokens how many there were
     */
    public record Change(
            Precision of,
            Precision than,
            double largestLogitChange,
            double largestScoreChange,
            long sameExperts,
            long tokens) {}

    private PrecisionProbe(
            RouterConfig config, Optional<SelectionBias> selectionBias, int width, double[] weight, double[] bias) {
        this.config = config;
        this.selectionBias = selectionBias;
        this.width = width;
        for (Precision precision : Precision.values()) {
            products.add(new Product(precision, width, weight, bias));
        }
    }

    /**
     * A probe of given weights.
     *
     * @param config a rule that looks at each token alone, without biases
     * @param weight E·D numbers, row after row, as in checkpoints
     * @return a probe without tokens
     * @throws IllegalArgumentException for a rule that has biases or looks at more than one token, or weights that are no
     *     multiple of E numbers
     */
    public static PrecisionProbe of(RouterConfig config, double[] weight) {
        if (config.selectionBias() || config.logitBias()) {
            throw Require.expected("config", "a rule without biases", config, "take the probe of a router");
        }
        if (weight.length == 0 || weight.length % config.experts() != 0) {
            throw Require.expected("weight", "a multiple of " + config.experts() + " numbers (E x D)", weight.length);
        }
        return new PrecisionProbe(
                requireOneByOne(config),
                Optional.empty(),
                weight.length / config.experts(),
                weight,
                new double[config.experts()]);
    }

    /**
     * A probe of a router's weights, with its biases.
     *
     * @param router whose rule looks at each token alone; it may be closed then
     * @return a probe without tokens
     * @throws IllegalArgumentException for a router whose rule looks at more than one token
     */
    public static PrecisionProbe of(TopKRouter router) {
        try (Parameters parameters = router.parameters()) {
            RouterConfig config = requireOneByOne(router.config());
            double[] bias = config.logitBias() ? parameters.get("bias").toArray() : new double[config.experts()];
            double[] weight = parameters.get("weight").toArray();
            return new PrecisionProbe(config, router.selectionBias(), router.hiddenSize(), weight, bias);
        }
    }

    private static RouterConfig requireOneByOne(RouterConfig config) {
        if (config.selection().wholeBatch()) {
            throw Require.expected("config.selection", "a rule that looks at each token alone", config.selection());
        }
        return config;
    }

    /**
     * Adds tokens.
     *
     * @param block (T×D), in whatever precision its backend holds them
     * @return this
     * @throws IllegalArgumentException for a block of another width
     */
    public PrecisionProbe add(Matrix block) {
        Require.count("block", block.columns(), width, "columns (hidden size of the router)");
        return add(block.toArray());
    }

    /**
     * Adds tokens.
     *
     * @param block T·D numbers, token after token
     * @return this
     * @throws ArithmeticException when a logit is not finite in one of the precisions
     */
    public PrecisionProbe add(double[] block) {
        if (block.length % width != 0) {
            throw Require.expected("block", "a multiple of " + width + " numbers (hidden size)", block.length);
        }
        List<double[]> logits = new ArrayList<>();
        List<Routing> routings = new ArrayList<>();
        for (Product product : products) {
            double[] made = product.logits(block);
            logits.add(made);
            routings.add(
                    selectionBias.isPresent()
                            ? config.routing(made.clone(), selectionBias.get())
                            : config.routing(made.clone()));
        }
        for (int i = 0; i < PAIRS.size(); i++) {
            int of = PAIRS.get(i).of();
            int than = PAIRS.get(i).than();
            addChanges(i, logits.get(of), logits.get(than));
            for (int t = 0; t < block.length / width; t++) {
                same[i] += isSame(routings.get(of), routings.get(than), t) ? 1 : 0;
            }
        }
        tokens += block.length / width;
        return this;
    }

    private void addChanges(int pair, double[] first, double[] second) {
        int experts = config.experts();
        double[] scores = new double[experts];
        double[] others = new double[experts];
        for (int t = 0; t < first.length / experts; t++) {
            config.score().scores(first, t, scores);
            config.score().scores(second, t, others);
            for (int e = 0; e < experts; e++) {
                int at = t * experts + e;
                largestLogit[pair] = Math.max(largestLogit[pair], Math.abs(first[at] - second[at]));
                largestScore[pair] = Math.max(largestScore[pair], Math.abs(scores[e] - others[e]));
            }
        }
    }

    private static boolean isSame(Routing first, Routing second, int token) {
        boolean[] chosen = new boolean[first.experts()];
        for (int rank = 0; rank < first.count(token); rank++) {
            chosen[first.expert(token, rank)] = true;
        }
        for (int rank = 0; rank < second.count(token); rank++) {
            if (!chosen[second.expert(token, rank)]) {
                return false;
            }
        }
        return true;
    }

    /**
     * What changed so far.
     *
     * @return bfloat16 beside single precision, as the article compares them, then each of both beside double
     */
    public List<Change> changes() {
        List<Change> changes = new ArrayList<>();
        for (int i = 0; i < PAIRS.size(); i++) {
            Pair pair = PAIRS.get(i);
            Precision of = products.get(pair.of()).precision;
            Precision than = products.get(pair.than()).precision;
            changes.add(new Change(of, than, largestLogit[i], largestScore[i], same[i], tokens));
        }
        return List.copyOf(changes);
    }

    /** The product in one precision: what the weights are rounded to, is rounded once. */
    private static final class Product {
        private final Precision precision;
        private final int width;
        private final double[] weight;
        private final double[] bias;

        Product(Precision precision, int width, double[] weight, double[] bias) {
            this.precision = precision;
            this.width = width;
            this.weight = rounded(weight);
            this.bias = rounded(bias);
        }

        private double[] rounded(double[] numbers) {
            double[] all = new double[numbers.length];
            for (int i = 0; i < all.length; i++) {
                all[i] = precision.rounded(numbers[i]);
            }
            return all;
        }

        double[] logits(double[] block) {
            double[] x = rounded(block);
            double[] logits = new double[block.length / width * bias.length];
            for (int i = 0; i < logits.length; i++) {
                int fromX = i / bias.length * width;
                int e = i % bias.length;
                logits[i] = precision == Precision.DOUBLE
                        ? inDouble(x, fromX, e * width) + bias[e]
                        : precision.rounded(inSingle(x, fromX, e * width) + (float) bias[e]);
            }
            return logits;
        }

        private double inDouble(double[] x, int fromX, int fromW) {
            double sum = 0;
            for (int d = 0; d < width; d++) {
                sum += x[fromX + d] * weight[fromW + d];
            }
            return sum;
        }

        private float inSingle(double[] x, int fromX, int fromW) {
            float sum = 0;
            for (int d = 0; d < width; d++) {
                sum += (float) x[fromX + d] * (float) weight[fromW + d];
            }
            return sum;
        }
    }
}
