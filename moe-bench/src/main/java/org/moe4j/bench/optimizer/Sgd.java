package org.moe4j.bench.optimizer;

/**
 * Gradient descent on one array of parameters, in double, with momentum and two kinds of decay.
 *
 * <p>A step: {@code b = momentum·b + (g + penalty·θ)}, {@code θ = (1 − rate·decay)·θ − rate·b}, from {@code b = 0}. The penalty
 * is the gradient of {@code penalty/2·‖θ‖²} and goes through the momentum: it is what PyTorch's SGD calls weight_decay. The
 * decay is decoupled: it acts on θ alone. PyTorch's dampening is 0 here, and its nesterov false.
 *
 * @see <a href="https://pytorch.org/docs/stable/generated/torch.optim.SGD.html">PyTorch's SGD</a>
 * @see <a href="https://arxiv.org/abs/1711.05101">Loshchilov and Hutter, Decoupled Weight Decay Regularization, Algorithm 1</a>
 */
public final class Sgd implements Optimizer {
    private final Settings settings;
    private final double[] values;
    private final double[] momentum;

    /**
     * Before the first step.
     *
     * @param start θ, copied
     * @param settings of all steps
     */
    public Sgd(double[] start, Settings settings) {
        this(start, settings, new double[start.length]);
    }

    /**
     * Goes on from a state.
     *
     * @param start θ, copied
     * @param settings of all steps to come
     * @param momentum b after the steps so far, as many numbers, copied
     */
    public Sgd(double[] start, Settings settings, double[] momentum) {
        this.settings = settings;
        values = start.clone();
        this.momentum = Numbers.like("momentum", momentum, values).clone();
    }

    /**
     * What a step keeps of older ones, and what pulls parameters towards 0.
     *
     * @param momentum in [0, 1); 0 is plain gradient descent
     * @param penalty at least 0; added to the gradient, times θ
     * @param decay at least 0; decoupled
     */
    public record Settings(double momentum, double penalty, double decay) {
        /**
         * Checks the numbers.
         *
         * @param momentum in [0, 1); 0 is plain gradient descent
         * @param penalty at least 0; added to the gradient, times θ
         * @param decay at least 0; decoupled
         */
        public Settings {
            Numbers.belowOne("momentum", momentum);
            Numbers.atLeastZero("penalty", penalty);
            Numbers.atLeastZero("decay", decay);
        }
    }

    @Override
    public void step(double[] gradient, double rate) {
        Numbers.like("gradient", gradient, values);
        Numbers.atLeastZero("rate", rate);
        double kept = 1 - rate * settings.decay();
        for (int i = 0; i < values.length; i++) {
            momentum[i] = settings.momentum() * momentum[i] + gradient[i] + settings.penalty() * values[i];
            values[i] = kept * values[i] - rate * momentum[i];
        }
    }

    @Override
    public double[] values() {
        return values.clone();
    }

    /**
     * What the steps so far left beside θ.
     *
     * @return b, one number per parameter, of the gradient's degree; a copy
     */
    public double[] momentum() {
        return momentum.clone();
    }
}
