package org.moe4j.bench.optimizer;

import java.util.function.ToDoubleFunction;
import org.moe4j.core.parameter.Parameters;

/**
 * Clipping by global norm: all gradients of a parameter set become shorter by one factor, {@code min(1, most / ‖g‖)}, where ‖g‖
 * is the Euclidean norm of all their numbers together.
 *
 * <p>PyTorch's clip_grad_norm_ divides by {@code ‖g‖ + 1e-6} instead.
 *
 * @param most the longest that is left as it is, above 0
 * @see <a href="https://arxiv.org/abs/1211.5063">Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural
 *     networks, Algorithm 1</a>
 */
public record GradientClipping(double most) {
    /**
     * Checks the number.
     *
     * @param most the longest that is left as it is, above 0
     */
    public GradientClipping {
        Numbers.aboveZero("most", most);
    }

    /**
     * What to multiply all gradients by.
     *
     * @param gradients one or more matrices
     * @return in (0, 1]
     * @throws ArithmeticException when the norm is not finite, as no factor makes such gradients shorter
     */
    public double factor(Parameters gradients) {
        return factor(gradients, name -> 1);
    }

    /**
     * The same with a norm that weighs parameters, {@code √Σ (weight·‖g_name‖)²}.
     *
     * @param gradients one or more matrices
     * @param weight of the gradient of a name
     * @return in (0, 1]
     * @throws ArithmeticException when the norm is not finite
     */
    public double factor(Parameters gradients, ToDoubleFunction<String> weight) {
        double norm = norm(gradients, weight);
        if (!Double.isFinite(norm)) {
            throw new ArithmeticException("gradients: expected a finite norm but was " + norm);
        }
        return norm > most ? most / norm : 1;
    }

    /**
     * {@code √Σ (weight·‖g_name‖)²}.
     *
     * @param gradients one or more matrices
     * @param weight of the gradient of a name; 1 for the global norm
     * @return at least 0
     */
    public static double norm(Parameters gradients, ToDoubleFunction<String> weight) {
        double sum = 0;
        for (String name : gradients.names()) {
            double factor = weight.applyAsDouble(name);
            for (double g : gradients.get(name).toArray()) {
                sum += factor * g * (factor * g);
            }
        }
        return Math.sqrt(sum);
    }
}
