package org.moe4j.bench.study.collapse;

import java.util.List;
import java.util.stream.Stream;
import org.moe4j.bench.optimizer.AdamW;
import org.moe4j.bench.optimizer.Muon;
import org.moe4j.bench.optimizer.Optimizer;
import org.moe4j.bench.optimizer.Sgd;

/** An optimizer with the settings of the study, that can be made from what another one kept. */
enum Learner {
    /** Element by element. */
    SGD(1, 1.0, 0.001) {
        @Override
        Optimizer make(double[] values, int columns, double decay, Kept kept) {
            return new Sgd(
                    values, new Sgd.Settings(0.9, 0, decay), kept.moments().get(0));
        }

        @Override
        Kept kept(Optimizer optimizer) {
            return new Kept(List.of(((Sgd) optimizer).momentum()), 0);
        }
    },
    /** Element by element. */
    ADAMW(2, 0.01, 0.1) {
        @Override
        Optimizer make(double[] values, int columns, double decay, Kept kept) {
            AdamW.State state =
                    new AdamW.State(kept.moments().get(0), kept.moments().get(1), kept.steps());
            return new AdamW(values, new AdamW.Settings(0.9, 0.99, 1e-8, decay), state);
        }

        @Override
        Kept kept(Optimizer optimizer) {
            AdamW.State state = ((AdamW) optimizer).state();
            return new Kept(List.of(state.means(), state.squares()), state.steps());
        }
    },
    /** Matrix by matrix. */
    MUON(1, 0.01, 0.1) {
        @Override
        Optimizer make(double[] values, int columns, double decay, Kept kept) {
            Muon.Settings settings = new Muon.Settings(0.95, 1e-7, decay, Muon.Scale.MATCHED_RMS);
            return new Muon(values, columns, settings, kept.moments().get(0));
        }

        @Override
        Kept kept(Optimizer optimizer) {
            return new Kept(List.of(((Muon) optimizer).momentum()), 0);
        }
    };

    private final int moments;
    private final double rate;
    private final double decay;

    Learner(int moments, double rate, double decay) {
        this.moments = moments;
        this.rate = rate;
        this.decay = decay;
    }

    /**
     * What an optimizer keeps beside its parameters.
     *
     * @param moments one number per parameter each
     * @param steps so far, where the optimizer counts them
     */
    record Kept(List<double[]> moments, int steps) {}

    /** Before the first step of as many parameters. */
    Kept nothing(int parameters) {
        return new Kept(
                Stream.generate(() -> new double[parameters]).limit(moments).toList(), 0);
    }

    /** How many numbers it keeps for each parameter. */
    int moments() {
        return moments;
    }

    double rate() {
        return rate;
    }

    /** Decoupled: a step takes away the rate times this of a parameter. */
    double decay() {
        return decay;
    }

    abstract Optimizer make(double[] values, int columns, double decay, Kept kept);

    abstract Kept kept(Optimizer optimizer);
}
