package org.moe4j.bench.study.reparameterization;

import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.moe4j.bench.optimizer.AdamW;
import org.moe4j.bench.optimizer.Muon;
import org.moe4j.bench.optimizer.Optimizer;
import org.moe4j.bench.optimizer.Sgd;
import org.moe4j.merge.rewrite.Rescaling;

/** The optimizers of the study, with their settings for the original. */
public enum Descent {
    /** Plain gradient descent, the decay a part of the gradient. */
    SGD("SGD", 0.1) {
        @Override
        Optimizer start(double[] values, int columns, Factors factors) {
            return new Sgd(values, sgd(0, factors));
        }

        @Override
        Optimizer resume(Optimizer before, double[] values, int columns, Factors factors) {
            return start(values, columns, factors);
        }
    },
    /** Gradient descent with momentum, the decay a part of the gradient. */
    MOMENTUM("SGD with momentum", 0.01) {
        @Override
        Optimizer start(double[] values, int columns, Factors factors) {
            return new Sgd(values, sgd(SGD_KEPT, factors));
        }

        @Override
        Optimizer resume(Optimizer before, double[] values, int columns, Factors factors) {
            return new Sgd(values, sgd(SGD_KEPT, factors), factors.means(((Sgd) before).momentum()));
        }
    },
    /** AdamW, the decay decoupled. */
    ADAMW("AdamW", 0.005) {
        @Override
        Optimizer start(double[] values, int columns, Factors factors) {
            return new AdamW(values, adamW(factors));
        }

        @Override
        Optimizer resume(Optimizer before, double[] values, int columns, Factors factors) {
            AdamW.State state = ((AdamW) before).state();
            return new AdamW(
                    values,
                    adamW(factors),
                    new AdamW.State(factors.means(state.means()), factors.squares(state.squares()), state.steps()));
        }
    },
    /** Muon on every matrix, the decay decoupled. */
    MUON("Muon", 0.01) {
        @Override
        Optimizer start(double[] values, int columns, Factors factors) {
            return new Muon(values, columns, muon(factors));
        }

        @Override
        Optimizer resume(Optimizer before, double[] values, int columns, Factors factors) {
            return new Muon(values, columns, muon(factors), factors.means(((Muon) before).momentum()));
        }
    };

    /** Momentum of SGD where it has one. */
    static final double SGD_KEPT = 0.9;

    /** Decay of SGD, a part of the gradient. */
    static final double PENALTY = 0.01;

    /** β₁ of AdamW. */
    static final double MEAN_KEPT = 0.9;

    /** β₂ of AdamW. */
    static final double SQUARE_KEPT = 0.99;

    /** Momentum of Muon. */
    static final double MUON_KEPT = 0.95;

    /** Decay of AdamW and Muon, decoupled. */
    static final double DECAY = 0.1;

    static final double ADAM_EPSILON = 1e-8;
    static final double MUON_EPSILON = 1e-7;

    private final String phrase;
    private final double rate;

    Descent(String phrase, double rate) {
        this.phrase = phrase;
        this.rate = rate;
    }

    private static Sgd.Settings sgd(double momentum, Factors factors) {
        return new Sgd.Settings(momentum, PENALTY * factors.decay(), 0);
    }

    private static AdamW.Settings adamW(Factors factors) {
        return new AdamW.Settings(MEAN_KEPT, SQUARE_KEPT, ADAM_EPSILON * factors.epsilon(), DECAY * factors.decay());
    }

    private static Muon.Settings muon(Factors factors) {
        return new Muon.Settings(
                MUON_KEPT, MUON_EPSILON * factors.epsilon(), DECAY * factors.decay(), Muon.Scale.ORIGINAL);
    }

    /** At the first step of the original. */
    abstract Optimizer start(double[] values, int columns, Factors factors);

    /** Of a rewritten layer, from the state of the original's. */
    abstract Optimizer resume(Optimizer before, double[] values, int columns, Factors factors);

    /** The step size of the original. */
    double rate() {
        return rate;
    }

    /** What multiplies the step size. */
    double rate(Rescaling rescaling) {
        return isSgd() ? rescaling.sgdRate() : rescaling.adamRate();
    }

    /** What multiplies the decay. */
    double decay(Rescaling rescaling) {
        return isSgd() ? rescaling.sgdDecay() : rescaling.adamDecay();
    }

    private boolean isSgd() {
        return this == SGD || this == MOMENTUM;
    }

    /** What a layer can be trained with: SGD has no ε, and without momentum no state. */
    List<Treatment> treatments() {
        return Stream.of(Treatment.values())
                .filter(treatment -> treatment != Treatment.WITHOUT_EPSILON || !isSgd())
                .filter(treatment -> !treatment.startsHalfway() || this != SGD)
                .toList();
    }

    /**
     * The name that scripts parse.
     *
     * @return sgd, momentum, adamw or muon
     */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * In words.
     *
     * @return for tables and titles
     */
    public String phrase() {
        return phrase;
    }
}
