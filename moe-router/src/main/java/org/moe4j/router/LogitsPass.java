package org.moe4j.router;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.TokenJitter;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.router.loss.LogitGradients;

/** The logits of T tokens, with noise where a seed asks for it, and the way back to tokens and parameters. */
final class LogitsPass {
    private final RouterWeights weights;
    private final Matrix tokens;
    private final Optional<RouterNoise> noise; // empty without a seed
    private final long seed;
    private final LogitRows clean;
    private final LogitRows logits;
    private final double[] learned; // X · W_nᵀ, with learned deviations

    private LogitsPass(
            RouterConfig config, RouterWeights weights, Matrix tokens, Optional<RouterNoise> noise, long seed) {
        this.weights = weights;
        this.tokens = tokens;
        this.noise = noise;
        this.seed = seed;
        RouterPrecision precision = config.precision();
        try (Matrix input = input()) {
            clean = RouterLogits.of(precision, input, weights.weight(), weights.bias());
        }
        learned = learnsDeviations()
                ? RouterLogits.of(precision, tokens, weights.noise().orElseThrow(), Optional.empty())
                        .toArray()
                : new double[0];
        logits = noisy();
    }

    static LogitsPass of(
            RouterConfig config,
            RouterWeights weights,
            Matrix tokens,
            Optional<RouterNoise> noise,
            OptionalLong noiseSeed) {
        return new LogitsPass(config, weights, tokens, noise.filter(n -> noiseSeed.isPresent()), noiseSeed.orElse(0));
    }

    /** The logits that scores are made of. */
    LogitRows logits() {
        return logits;
    }

    /** The logits before noise was added to them. */
    double[] cleanLogits() {
        return clean.toArray();
    }

    /** The standard deviations of what was added to the logits; empty when nothing was. */
    Optional<double[]> deviations() {
        if (!addsToLogits()) {
            return Optional.empty();
        }
        double[] deviations = new double[clean.tokens() * clean.experts()];
        for (int i = 0; i < deviations.length; i++) {
            deviations[i] = deviation(i);
        }
        return Optional.of(deviations);
    }

    private boolean addsToLogits() {
        return noise.isPresent() && !(noise.get() instanceof RouterNoise.InputJitter);
    }

    private boolean learnsDeviations() {
        return noise.isPresent() && noise.get() instanceof RouterNoise.LearnedNormal;
    }

    /** What the router multiplies: a handle on the tokens, or their product with the factors of the jitter. */
    private Matrix input() {
        if (noise.isPresent() && noise.get() instanceof RouterNoise.InputJitter jitter) {
            try (Matrix factors = factors(jitter)) {
                return tokens.backend().multiply(tokens, factors);
            }
        }
        return tokens.share();
    }

    private Matrix factors(RouterNoise.InputJitter jitter) {
        return new TokenJitter(jitter.epsilon())
                .factors(tokens.backend(), tokens.rows(), tokens.columns(), RandomNumbers.JITTER.seed(seed));
    }

    private double deviation(int at) {
        if (noise.isPresent() && noise.get() instanceof RouterNoise.FixedNormal normal) {
            return normal.deviation() / clean.experts();
        }
        if (noise.isPresent() && noise.get() instanceof RouterNoise.LearnedNormal normal) {
            double u = learned[at];
            return Math.max(u, 0) + StrictMath.log1p(Exponential.of(-Math.abs(u))) + normal.floor();
        }
        return 0;
    }

    private LogitRows noisy() {
        if (!addsToLogits()) {
            return clean;
        }
        double[] sums = clean.toArray();
        double[] draws = draws();
        for (int i = 0; i < sums.length; i++) {
            sums[i] += draws[i] * deviation(i);
        }
        return LogitRows.of(clean.experts(), sums);
    }

    /** ξ, standard normal, T·E numbers. */
    private double[] draws() {
        double[] draws = new double[clean.tokens() * clean.experts()];
        for (int t = 0; t < clean.tokens(); t++) {
            SplittableRandom random = RandomNumbers.LOGITS.ofToken(seed, t);
            for (int e = 0; e < clean.experts(); e++) {
                draws[t * clean.experts() + e] = RandomNumbers.normal(random);
            }
        }
        return draws;
    }

    /** Gradients of tokens and parameters; the first array, those of the noisy logits, is used up. */
    Gradients backward(double[] dLogits, Optional<LogitGradients> further) {
        Map<String, Matrix> gradients = new LinkedHashMap<>();
        try (Unfinished made = new Unfinished()) {
            Matrix dTokens = backward(
                    dLogits, further, name -> true, (name, gradient) -> gradients.put(name, made.add(gradient)));
            Gradients all = new Gradients(dTokens, Parameters.of(gradients));
            made.keep();
            return all;
        }
    }

    /** Gradient of the tokens; those of wanted parameters are added into buffers. The first array is used up. */
    Matrix backward(double[] dLogits, Optional<LogitGradients> further, Set<String> wanted, Parameters into) {
        return backward(dLogits, further, wanted::contains, (name, gradient) -> {
            try (gradient) {
                gradient.backend().accumulate(1, into.get(name), 0, gradient);
            }
        });
    }

    private Matrix backward(
            double[] dLogits,
            Optional<LogitGradients> further,
            Predicate<String> wanted,
            BiConsumer<String, Matrix> taker) {
        Optional<double[]> dLearned = weights.noise().map(n -> learnedGradients(dLogits, further));
        if (addsToLogits() && further.isPresent()) {
            add(dLogits, further.get().cleanLogits());
        }
        Backend backend = tokens.backend();
        int rows = dLearned.isPresent() ? clean.tokens() : 0;
        try (Matrix dAll = backend.matrix(clean.tokens(), clean.experts(), dLogits);
                Matrix dU = backend.matrix(rows, clean.experts(), dLearned.orElseGet(() -> new double[0]));
                // before anything is taken: it reads the router's weights, which may have been closed
                Matrix dTokens = tokenGradients(dAll, dU)) {
            if (wanted.test(RouterWeights.WEIGHT)) {
                try (Matrix input = input()) {
                    taker.accept(RouterWeights.WEIGHT, backend.matmulTransA(dAll, input));
                }
            }
            if (weights.bias().isPresent() && wanted.test(RouterWeights.BIAS)) {
                taker.accept(RouterWeights.BIAS, backend.matrix(1, clean.experts(), columnSums(dLogits)));
            }
            if (weights.noise().isPresent() && wanted.test(RouterWeights.NOISE)) {
                taker.accept(RouterWeights.NOISE, backend.matmulTransA(dU, tokens));
            }
            return dTokens.share();
        }
    }

    private Matrix tokenGradients(Matrix dAll, Matrix dU) {
        Backend backend = tokens.backend();
        Matrix dTokens = inputGradients(backend.matmul(dAll, weights.weight()));
        if (weights.noise().isEmpty()) {
            return dTokens;
        }
        try (dTokens;
                Matrix through = backend.matmul(dU, weights.noise().get())) {
            return backend.add(dTokens, through);
        }
    }

    /** Of {@code X · W_nᵀ}: through the noise, and what losses say of the deviations. Zeros without a seed. */
    private double[] learnedGradients(double[] dLogits, Optional<LogitGradients> further) {
        if (!learnsDeviations()) {
            return new double[dLogits.length];
        }
        double[] gradients = draws();
        for (int i = 0; i < gradients.length; i++) {
            gradients[i] *= dLogits[i];
        }
        further.ifPresent(losses -> add(gradients, losses.deviations()));
        for (int i = 0; i < gradients.length; i++) {
            gradients[i] *= 1 / (1 + Exponential.of(-learned[i]));
        }
        return gradients;
    }

    private Matrix inputGradients(Matrix dInput) {
        if (noise.isPresent() && noise.get() instanceof RouterNoise.InputJitter jitter) {
            try (dInput;
                    Matrix factors = factors(jitter)) {
                return dInput.backend().multiply(dInput, factors);
            }
        }
        return dInput;
    }

    private static void add(double[] sum, double[] summand) {
        for (int i = 0; i < summand.length; i++) {
            sum[i] += summand[i];
        }
    }

    private double[] columnSums(double[] rows) {
        double[] sums = new double[clean.experts()];
        for (int i = 0; i < rows.length; i++) {
            sums[i % sums.length] += rows[i];
        }
        return sums;
    }
}
