package org.moe4j.merge.rewrite;

import org.moe4j.core.internal.Require;

/**
 * What {@code W' = c·W} means for the training of a family of parameters whose function stays the same: its gradient is
 * {@code dW' = dW/c}, and an optimizer takes the same steps, {@code W'} being {@code c·W} after every one, when its settings for
 * this family and its state change as said here. All of it follows from the first line; without it the rewritten layer computes
 * the same and trains otherwise (Sections 21.3 and 21.4 of the report on Olmo's MoE recipe).
 *
 * <p>Initial parameters are multiplied by c, so that their standard deviation is by |c|.
 *
 * <p><b>What no setting keeps.</b> Clipping by the norm of the gradients of several families with different |c|: that norm becomes
 * {@code √(Σ ‖dW‖²/c²)}. The same steps need the norm of the gradients mapped back, {@code √(Σ c²·‖dW'‖²)}, with the old
 * threshold. Numbers that a narrow type cannot hold any more are lost as well.
 *
 * @param factor c, whose square and the reciprocal of it are normal numbers, as c is then itself; negative for a sign that changed
 */
public record Rescaling(double factor) {
    private static final Rescaling NONE = new Rescaling(1);

    /**
     * Checks the factor.
     *
     * @param factor c, whose square and the reciprocal of it are normal numbers
     * @throws IllegalArgumentException for {@code factor} other than a number whose square and its reciprocal are normal numbers
     */
    public Rescaling {
        if (!isUsable(factor)) {
            throw Require.expected("factor", "a number whose square and its reciprocal are normal numbers", factor);
        }
    }

    /**
     * Nothing changes.
     *
     * @return {@code c = 1}
     */
    public static Rescaling none() {
        return NONE;
    }

    /** Whether c², 1/c and 1/c² are numbers too; no bits are lost near 0. */
    static boolean isUsable(double factor) {
        double square = factor * factor;
        return square >= Double.MIN_NORMAL && 1 / square >= Double.MIN_NORMAL;
    }

    /**
     * What multiplies a gradient, and a moving mean of gradients: momentum, Adam's first moment.
     *
     * @return {@code 1/c}
     */
    public double gradient() {
        return 1 / factor;
    }

    /**
     * What multiplies a moving mean of squared gradients: Adam's second moment, and its maximum in AMSGrad.
     *
     * @return {@code 1/c²}
     */
    public double secondMoment() {
        return 1 / (factor * factor);
    }

    /**
     * What multiplies the learning rate of gradient descent, with momentum or without: {@code W' − η'·dW/c} is {@code c·(W − η·dW)} for
     * {@code η' = c²·η}.
     *
     * @return {@code c²}
     */
    public double sgdRate() {
        return factor * factor;
    }

    /**
     * What multiplies the weight decay of gradient descent, be it a part of the gradient ({@code dW + λ·W}) or decoupled
     * ({@code W − η·λ·W}, whose η·λ stays as it was); and that of any optimizer where it is a part of the gradient.
     *
     * @return {@code 1/c²}
     */
    public double sgdDecay() {
        return 1 / (factor * factor);
    }

    /**
     * What multiplies the learning rate of an optimizer whose step does not grow with the gradient: Adam with {@link #adamEpsilon},
     * sign descent, Muon.
     *
     * @return {@code |c|}
     */
    public double adamRate() {
        return Math.abs(factor);
    }

    /**
     * What multiplies Adam's ε, and any that is added to a size of the gradient: {@code m'/(√v' + ε')} is {@code m/(√v + ε)} up to the
     * sign of c, for {@code ε' = ε/|c|}.
     *
     * @return {@code 1/|c|}
     */
    public double adamEpsilon() {
        return 1 / Math.abs(factor);
    }

    /**
     * What multiplies the decoupled weight decay λ of AdamW and its like, {@code W − η·λ·W}: η·λ stays as it was.
     *
     * @return {@code 1/|c|}
     */
    public double adamDecay() {
        return 1 / Math.abs(factor);
    }

    /**
     * What multiplies a threshold by which the gradients of this family alone are clipped, element by element or by their norm.
     *
     * @return {@code 1/|c|}
     */
    public double clipping() {
        return 1 / Math.abs(factor);
    }
}
