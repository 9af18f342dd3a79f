package org.moe4j.bench.optimizer;

import org.moe4j.core.internal.Require;

/**
 * AdamW on one array of parameters, in double; without decay it is Adam.
 *
 * <p>Step t, from 1: {@code m = β₁·m + (1 − β₁)·g}, {@code v = β₂·v + (1 − β₂)·g²}, {@code θ = (1 − rate·decay)·θ},
 * {@code θ = θ − rate · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)}, all element by element. The decay is decoupled: it is no part
 * of the gradient, and it is times the rate, as PyTorch's; in the paper it is times the schedule alone. The same gradients
 * give the same bits everywhere.
 *
 * @see <a href="https://arxiv.org/abs/1412.6980">Kingma and Ba, Adam: A Method for Stochastic Optimization, Algorithm 1</a>
 * @see <a href="https://arxiv.org/abs/1711.05101">Loshchilov and Hutter, Decoupled Weight Decay Regularization, Algorithm 2</a>
 * @see <a href="https://pytorch.org/docs/stable/generated/torch.optim.AdamW.html">PyTorch's AdamW</a>
 */
public final class AdamW implements Optimizer {
    private final Settings settings;
    private final double[] values;
    private final double[] means;
    private final double[] squares;
    private double firstPower = 1;
    private double secondPower = 1;
    private int steps;

    /**
     * Before the first step.
     *
     * @param start θ, copied
     * @param settings of all steps
     */
    public AdamW(double[] start, Settings settings) {
        this(start, settings, new State(new double[start.length], new double[start.length], 0));
    }

    /**
     * Goes on from a state.
     *
     * @param start θ, copied
     * @param settings of all steps to come; the same averages as before, else the state is not one of theirs
     * @param state after the steps so far, with as many numbers
     */
    public AdamW(double[] start, Settings settings, State state) {
        this.settings = settings;
        values = start.clone();
        means = Numbers.like("means", state.means(), values);
        squares = state.squares();
        for (steps = 0; steps < state.steps(); steps++) {
            advancePowers(); // bit for bit as in the run so far
        }
    }

    private void advancePowers() {
        firstPower *= settings.mean();
        secondPower *= settings.square();
    }

    /**
     * How fast old gradients are forgotten, and how fast parameters decay.
     *
     * @param mean β₁ in [0, 1)
     * @param square β₂ in [0, 1)
     * @param epsilon ε above 0
     * @param decay at least 0; 0 is Adam
     */
    public record Settings(double mean, double square, double epsilon, double decay) {
        /**
         * Checks the numbers.
         *
         * @param mean β₁ in [0, 1)
         * @param square β₂ in [0, 1)
         * @param epsilon ε above 0
         * @param decay at least 0; 0 is Adam
         */
        public Settings {
            Numbers.belowOne("mean", mean);
            Numbers.belowOne("square", square);
            Numbers.aboveZero("epsilon", epsilon);
            Numbers.atLeastZero("decay", decay);
        }
    }

    /** What is kept from step to step beside θ. It does not change. */
    public static final class State {
        private final double[] means;
        private final double[] squares;
        private final int steps;

        /**
         * Copies the arrays.
         *
         * @param means m, one number per parameter; of the gradient's degree: gradients times a make it m times a
         * @param squares v, one number per parameter; of degree 2
         * @param steps t, at least 0
         */
        public State(double[] means, double[] squares, int steps) {
            this.means = means.clone();
            this.squares = Numbers.like("squares", squares, means).clone();
            this.steps = Require.atLeast("steps", steps, 0);
        }

        /**
         * The average of gradients, not yet divided by {@code 1 − β₁ᵗ}.
         *
         * @return m, a copy
         */
        public double[] means() {
            return means.clone();
        }

        /**
         * The average of squared gradients, not yet divided by {@code 1 − β₂ᵗ}.
         *
         * @return v, a copy
         */
        public double[] squares() {
            return squares.clone();
        }

        /**
         * Steps so far.
         *
         * @return t
         */
        public int steps() {
            return steps;
        }
    }

    @Override
    public void step(double[] gradient, double rate) {
        Numbers.like("gradient", gradient, values);
        Numbers.atLeastZero("rate", rate);
        advancePowers();
        steps++;
        double kept = 1 - rate * settings.decay();
        for (int i = 0; i < values.length; i++) {
            double g = gradient[i];
            means[i] = settings.mean() * means[i] + (1 - settings.mean()) * g;
            squares[i] = settings.square() * squares[i] + (1 - settings.square()) * g * g;
            double mean = means[i] / (1 - firstPower);
            double square = squares[i] / (1 - secondPower);
            values[i] = kept * values[i] - rate * mean / (Math.sqrt(square) + settings.epsilon());
        }
    }

    @Override
    public double[] values() {
        return values.clone();
    }

    /**
     * What the steps so far left beside θ.
     *
     * @return a copy
     */
    public State state() {
        return new State(means, squares, steps);
    }
}
