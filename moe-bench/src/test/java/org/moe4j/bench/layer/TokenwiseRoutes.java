package org.moe4j.bench.layer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.moe4j.bench.layer.LayerCase.Training;
import org.moe4j.bench.layer.TokenwiseLosses.Seen;
import org.moe4j.bench.layer.TokenwiseRouter.Choice;

/** Where the tokens of a case go once the router chose and the capacity dropped: no code of the library is used. */
final class TokenwiseRoutes {
    private TokenwiseRoutes() {}

    /**
     * What multiplies, before the merge.
     *
     * @param weights T×E: what is left of the router's weight of each expert; 0 for what was not chosen or dropped
     * @param passed T: what multiplies the token itself, where no expert took it
     */
    @SuppressWarnings("ArrayRecordComponent") // test data
    record Routes(double[][] weights, double[] passed) {}

    /** What router, experts and merge see of a token. */
    static double[] token(LayerCase c, int token) {
        return times(Plain.row(c.tokens(), token), c.training().draws().tokenFactors(), token);
    }

    private static double[] times(double[] x, double[] factors, int token) {
        double[] product = x.clone();
        for (int i = 0; factors.length > 0 && i < product.length; i++) {
            product[i] *= factors[token * product.length + i];
        }
        return product;
    }

    /** Logits of a token before noise, E numbers. */
    static double[] clean(LayerCase c, int token) {
        double[] x = times(token(c, token), c.training().draws().routerFactors(), token);
        double[] logits = Plain.products(c.parameters().get("router.weight"), x);
        for (int e = 0; c.router().logitBias() && e < logits.length; e++) {
            logits[e] += c.parameters().get("router.bias").values()[e];
        }
        return logits;
    }

    /** Standard deviations of the noise on the logits of a token. */
    static double[] deviations(LayerCase c, int token) {
        double[] deviations = new double[c.router().experts()];
        if (!c.training().noise().learned()) {
            Arrays.fill(deviations, c.training().noise().number() / deviations.length);
            return deviations;
        }
        double[] raw = Plain.products(c.parameters().get("router.noise"), token(c, token));
        for (int e = 0; e < raw.length; e++) {
            deviations[e] = StrictMath.log1p(StrictMath.exp(raw[e]))
                    + c.training().noise().number();
        }
        return deviations;
    }

    /** Logits of a token that scores are made of, E numbers. */
    static double[] logits(LayerCase c, int token) {
        double[] logits = clean(c, token);
        double[] noise = c.training().draws().logitNoise();
        if (noise.length > 0) {
            double[] deviations = deviations(c, token);
            for (int e = 0; e < logits.length; e++) {
                logits[e] += noise[token * logits.length + e] * deviations[e];
            }
        }
        return logits;
    }

    /** What the router chose for every token. */
    static List<Choice> choices(LayerCase c) {
        Training training = c.training();
        return TokenwiseChoosing.of(
                c.router(),
                allLogits(c),
                training.draws().second(),
                training.situation().lengths());
    }

    private static List<double[]> allLogits(LayerCase c) {
        return IntStream.range(0, c.sizes().tokens())
                .mapToObj(t -> logits(c, t))
                .toList();
    }

    /** What losses see of a case. */
    static Seen seen(LayerCase c) {
        int tokens = c.sizes().tokens();
        List<double[]> deviations = new ArrayList<>();
        List<double[]> logits = new ArrayList<>();
        List<double[]> clean = new ArrayList<>();
        for (int t = 0; t < tokens; t++) {
            logits.add(logits(c, t));
            clean.add(clean(c, t));
            if (c.training().draws().logitNoise().length > 0) {
                deviations.add(deviations(c, t));
            }
        }
        Situation situation = c.training().situation();
        return new Seen(
                c.router(),
                choices(c),
                logits,
                clean,
                deviations,
                situation.sequences(tokens),
                situation.valid(tokens));
    }

    /** The sum of the losses of a case. */
    static double losses(LayerCase c) {
        return c.training().losses().isEmpty()
                ? 0
                : TokenwiseLosses.value(c.training().losses(), seen(c));
    }

    static Routes of(LayerCase c) {
        List<Choice> choices = choices(c);
        double[][] weights = new double[choices.size()][c.router().experts()];
        double[] passed = new double[choices.size()];
        boolean[][] kept = c.capacity()
                .map(words -> TokenwiseCapacity.kept(
                        words,
                        choices,
                        c.router().experts(),
                        c.training().situation().lengths()))
                .orElse(new boolean[0][]);
        for (int t = 0; t < weights.length; t++) {
            Choice choice = choices.get(t);
            for (int rank = 0; rank < choice.experts().length; rank++) {
                if (c.capacity().isEmpty() || kept[t][rank]) {
                    weights[t][choice.experts()[rank]] = choice.weights()[rank];
                }
            }
            if (c.capacity().isPresent()) {
                passed[t] = passed(c.capacity().get(), choice, kept[t]);
                weighAgain(c.capacity().get(), weights[t]);
            }
        }
        return new Routes(weights, passed);
    }

    private static double passed(CapacityWords words, Choice choice, boolean[] kept) {
        double sum = 0;
        for (int rank = 0; rank < kept.length; rank++) {
            if (kept[rank]) {
                return 0;
            }
            sum += choice.weights()[rank];
        }
        return switch (words.unserved()) {
            case "zero" -> 0;
            case "passed" -> 1;
            case "passed-weighted" -> sum;
            default -> throw new IllegalArgumentException("unserved " + words.unserved());
        };
    }

    private static void weighAgain(CapacityWords words, double[] weights) {
        double sum = 0;
        for (double weight : weights) {
            sum += weight;
        }
        for (int e = 0; words.keptWeights().equals("unit-sum") && sum != 0 && e < weights.length; e++) {
            weights[e] /= sum;
        }
    }

    /** The smallest distance of any token to a jump or a kink of its routing. */
    static double gap(LayerCase c) {
        double gap = TokenwiseChoosing.gap(
                c.router(), allLogits(c), c.training().situation().lengths());
        List<Choice> choices = choices(c);
        gap = Math.min(gap, TokenwiseLosses.gap(c.training().losses(), seen(c)));
        return Math.min(
                gap,
                c.capacity()
                        .map(words ->
                                TokenwiseCapacity.gap(words, choices, c.router().experts()))
                        .orElse(gap));
    }
}
