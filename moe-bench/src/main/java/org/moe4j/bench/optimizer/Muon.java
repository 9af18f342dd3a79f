package org.moe4j.bench.optimizer;

import org.moe4j.core.internal.Require;

/**
 * Muon on one matrix of parameters, in double: momentum whose singular values are all made about 1.
 *
 * <p>A step: {@code b = momentum·b + g} from {@code b = 0}, {@code n = g + momentum·b} (Nesterov's),
 * {@code θ = (1 − rate·decay)·θ − rate·scale·NewtonSchulz(n)} with five iterations ({@link NewtonSchulz}) and a {@link Scale} by
 * shape. The matrix is stored (out × in), as those of the library. It is no element-wise optimizer: the step of a matrix is
 * not made of the steps of its slices. Jordan's repository averages instead, {@code b = momentum·b + (1 − momentum)·g}; its
 * {@code n} is {@code 1 − momentum} times this one, the same step but for ε.
 *
 * @see <a href="https://kellerjordan.github.io/posts/muon/">Jordan et al., Muon: An optimizer for hidden layers</a>
 * @see <a href="https://github.com/KellerJordan/Muon">muon.py: the scale by shape, decoupled decay</a>
 * @see <a href="https://pytorch.org/docs/stable/generated/torch.optim.Muon.html">PyTorch's Muon: this form, both scales</a>
 */
public final class Muon implements Optimizer {
    private static final int ITERATIONS = 5;

    private final Settings settings;
    private final int columns;
    private final double scale;
    private final double[] values;
    private final double[] momentum;

    /**
     * Before the first step.
     *
     * @param start θ (rows×columns), row by row, copied
     * @param columns at least 1; divides the number of parameters
     * @param settings of all steps
     */
    public Muon(double[] start, int columns, Settings settings) {
        this(start, columns, settings, new double[start.length]);
    }

    /**
     * Goes on from a state.
     *
     * @param start θ (rows×columns), row by row, copied
     * @param columns at least 1; divides the number of parameters
     * @param settings of all steps to come
     * @param momentum b after the steps so far, as many numbers, copied
     */
    public Muon(double[] start, int columns, Settings settings, double[] momentum) {
        Require.atLeast("columns", columns, 1);
        if (start.length % columns != 0) {
            throw Require.expected("columns", "a divisor of " + start.length + " (parameters)", columns);
        }
        this.settings = settings;
        this.columns = columns;
        scale = settings.scale().of(start.length / columns, columns);
        values = start.clone();
        this.momentum = Numbers.like("momentum", momentum, values).clone();
    }

    /** What the shape of a matrix makes of the rate. */
    public enum Scale {
        /** {@code √max(1, rows/columns)}, of muon.py. */
        ORIGINAL {
            @Override
            double of(int rows, int columns) {
                return Math.sqrt(Math.max(1, rows / (double) columns));
            }
        },
        /**
         * {@code 0.2·√max(rows, columns)}: elements with about the RMS of a step of AdamW.
         *
         * @see <a href="https://arxiv.org/abs/2502.16982">Liu et al., Muon is Scalable for LLM Training, Section 2.2</a>
         */
        MATCHED_RMS {
            @Override
            double of(int rows, int columns) {
                return 0.2 * Math.sqrt(Math.max(rows, columns));
            }
        };

        abstract double of(int rows, int columns);
    }

    /**
     * What a step keeps of older ones, what pulls parameters towards 0, and how long a step is.
     *
     * @param momentum in [0, 1); 0.95 is usual
     * @param epsilon at least 0; added to the norm that n is divided by; 1e-7 is usual
     * @param decay at least 0; decoupled, times the rate alone
     * @param scale by shape
     */
    public record Settings(double momentum, double epsilon, double decay, Scale scale) {
        /**
         * Checks the numbers.
         *
         * @param momentum in [0, 1); 0.95 is usual
         * @param epsilon at least 0; added to the norm that n is divided by; 1e-7 is usual
         * @param decay at least 0; decoupled, times the rate alone
         * @param scale by shape
         */
        public Settings {
            Numbers.belowOne("momentum", momentum);
            Numbers.atLeastZero("epsilon", epsilon);
            Numbers.atLeastZero("decay", decay);
        }
    }

    @Override
    public void step(double[] gradient, double rate) {
        Numbers.like("gradient", gradient, values);
        Numbers.atLeastZero("rate", rate);
        double[] nesterov = new double[values.length];
        for (int i = 0; i < values.length; i++) {
            momentum[i] = settings.momentum() * momentum[i] + gradient[i];
            nesterov[i] = gradient[i] + settings.momentum() * momentum[i];
        }
        double[] direction = NewtonSchulz.iterate(nesterov, columns, ITERATIONS, settings.epsilon());
        double kept = 1 - rate * settings.decay();
        for (int i = 0; i < values.length; i++) {
            values[i] = kept * values[i] - rate * scale * direction[i];
        }
    }

    @Override
    public double[] values() {
        return values.clone();
    }

    /**
     * What the steps so far left beside θ.
     *
     * @return b (rows×columns), row by row, of the gradient's degree; a copy
     */
    public double[] momentum() {
        return momentum.clone();
    }
}
