package org.moe4j.bench.optimizer;

/**
 * Adam on one array of parameters, in double, without weight decay.
 *
 * <p>Step t, from 1: {@code m = β₁·m + (1 − β₁)·g}, {@code v = β₂·v + (1 − β₂)·g²},
 * {@code θ = θ − rate · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)}, all element by element. The same gradients give the same
 * bits everywhere.
 *
 * @see <a href="https://arxiv.org/abs/1412.6980">Kingma and Ba, Adam: A Method for Stochastic Optimization, Algorithm 1</a>
 */
public final class Adam implements Optimizer {
    private final Decay decay;
    private final double[] values;
    private final double[] means;
    private final double[] squares;
    private double firstPower = 1;
    private double secondPower = 1;

    /**
     * Before the first step.
     *
     * @param start θ, copied
     * @param decay how fast old gradients are forgotten
     */
    public Adam(double[] start, Decay decay) {
        this.decay = decay;
        values = start.clone();
        means = new double[start.length];
        squares = new double[start.length];
    }

    /**
     * How fast old gradients are forgotten.
     *
     * @param mean β₁ in [0, 1)
     * @param square β₂ in [0, 1)
     * @param epsilon ε above 0
     */
    public record Decay(double mean, double square, double epsilon) {
        /**
         * Checks the numbers.
         *
         * @param mean β₁ in [0, 1)
         * @param square β₂ in [0, 1)
         * @param epsilon ε above 0
         */
        public Decay {
            if (!(mean >= 0 && mean < 1)) {
                throw new IllegalArgumentException("mean: expected a number in [0, 1) but was " + mean);
            }
            if (!(square >= 0 && square < 1)) {
                throw new IllegalArgumentException("square: expected a number in [0, 1) but was " + square);
            }
            if (!(epsilon > 0)) {
                throw new IllegalArgumentException("epsilon: expected a number above 0 but was " + epsilon);
            }
        }
    }

    @Override
    public void step(double[] gradient, double rate) {
        if (gradient.length != values.length) {
            throw new IllegalArgumentException(
                    "gradient: expected " + values.length + " numbers (parameters) but was " + gradient.length);
        }
        firstPower *= decay.mean();
        secondPower *= decay.square();
        for (int i = 0; i < values.length; i++) {
            double g = gradient[i];
            means[i] = decay.mean() * means[i] + (1 - decay.mean()) * g;
            squares[i] = decay.square() * squares[i] + (1 - decay.square()) * g * g;
            double mean = means[i] / (1 - firstPower);
            double square = squares[i] / (1 - secondPower);
            values[i] -= rate * mean / (Math.sqrt(square) + decay.epsilon());
        }
    }

    @Override
    public double[] values() {
        return values.clone();
    }
}
