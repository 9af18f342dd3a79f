package org.moe4j.merge.rewrite;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleUnaryOperator;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Parameters;

/**
 * A fixed coefficient c of an expert, moved into its weights and out of them: {@code c · E(x; W) = E(x; W′)}, where the down
 * projection and the down bias of W′ are c times those of W and everything else is the same (the paragraph after
 * Equation 76 of the report on Olmo's MoE recipe). A sum {@code Σ_j c_j · E_j(x)} is thereby one wide expert: absorb each, then
 * {@link Partition#concatenate}.
 *
 * <p>The function is the same, what an optimizer does is not: with {@code W′ = c·W} a gradient is {@code dW′ = dW/c}, a first moment
 * of Adam too, a second moment is divided by c². So a step of a fixed size in W is another one in W′; {@link Rescaling} says what the
 * settings of an optimizer have to become.
 *
 * <p><b>Rounding.</b> A product or quotient is taken in double precision and rounded once to that of the matrix. A power of two
 * changes no bit of a number's fraction, so that it comes out again as it went in; other coefficients may change the last bit, and
 * numbers below the smallest normal one lose bits of any: {@link #reversible} says whether all come back. What would overflow
 * is refused. A negative coefficient turns the sign of zeros; a gradient that is computed as a sum has no −0, one that is mapped may.
 *
 * <p>Sets are named as {@link org.moe4j.core.expert.FeedForwardExperts#expert} names them; results are handles of the caller, and share
 * immutable matrices that do not change.
 *
 * @param coefficient c, finite; 0 can be absorbed but not taken out
 */
public record DownScale(double coefficient) {
    private static final List<String> SCALED = List.of(BankPart.DOWN.key(), BankPart.DOWN_BIAS.key());

    /**
     * Checks the coefficient.
     *
     * @param coefficient c, finite; 0 can be absorbed but not taken out
     * @throws IllegalArgumentException for {@code coefficient} that is not finite
     */
    public DownScale {
        Require.finite("coefficient", coefficient);
    }

    /**
     * The coefficient moves in: {@code W′ = c·W} for down projection and down bias.
     *
     * @param expert weights of an expert whose output is multiplied by c
     * @return weights of an expert whose output is not
     * @throws IllegalArgumentException when a product is not finite
     */
    public Parameters absorb(Parameters expert) {
        return absorb("expert", expert);
    }

    /** The same for an expert with a name in messages. */
    Parameters absorb(String argument, Parameters expert) {
        return scaled(argument, expert, "times " + coefficient, value -> value * coefficient);
    }

    /**
     * The coefficient moves out, the inverse of {@link #absorb}: {@code W = W′/c}.
     *
     * @param expert weights of an expert whose output is not multiplied
     * @return weights of an expert whose output is to be multiplied by c
     * @throws IllegalArgumentException when c is 0 or a quotient is not finite
     */
    public Parameters takeOut(Parameters expert) {
        requireNonzero();
        return scaled("expert", expert, "divided by " + coefficient, value -> value / coefficient);
    }

    /**
     * Gradients, or first moments, with the coefficient inside: {@code dW′ = dW/c}.
     *
     * @param gradients of the weights of an expert whose output is multiplied by c
     * @return gradients of the weights that have absorbed c
     * @throws IllegalArgumentException when c is 0 or a quotient is not finite
     */
    public Parameters absorbGradients(Parameters gradients) {
        requireNonzero();
        return scaled("gradients", gradients, "divided by " + coefficient, value -> value / coefficient);
    }

    /**
     * Gradients, or first moments, with the coefficient outside, the inverse of {@link #absorbGradients}: {@code dW = c·dW′}.
     *
     * @param gradients of the weights that have absorbed c
     * @return gradients of the weights of an expert whose output is multiplied by c
     * @throws IllegalArgumentException when a product is not finite
     */
    public Parameters takeOutGradients(Parameters gradients) {
        return scaled("gradients", gradients, "times " + coefficient, value -> value * coefficient);
    }

    /**
     * Second moments, means of squared gradients, with the coefficient inside: {@code v′ = v/c²}.
     *
     * @param moments of the weights of an expert whose output is multiplied by c
     * @return moments of the weights that have absorbed c
     * @throws IllegalArgumentException when c is 0 or a quotient is not finite
     */
    public Parameters absorbSecondMoments(Parameters moments) {
        requireNonzero();
        return scaled(
                "moments", moments, "divided by the square of " + coefficient, v -> v / coefficient / coefficient);
    }

    /**
     * Second moments with the coefficient outside, the inverse of {@link #absorbSecondMoments}: {@code v = c²·v′}.
     *
     * @param moments of the weights that have absorbed c
     * @return moments of the weights of an expert whose output is multiplied by c
     * @throws IllegalArgumentException when a product is not finite
     */
    public Parameters takeOutSecondMoments(Parameters moments) {
        return scaled("moments", moments, "times the square of " + coefficient, v -> v * coefficient * coefficient);
    }

    private void requireNonzero() {
        if (coefficient == 0) {
            throw Require.expected("coefficient", "a number other than 0 (to divide by)", coefficient);
        }
    }

    /**
     * Whether {@link #takeOut} gives back every bit after {@link #absorb}. It does not where the coefficient is no power of two
     * and rounding changed a number, where a product is below the smallest normal number and lost bits, where it
     * overflows, for 0, and for numbers that are not finite.
     *
     * @param expert weights that are to absorb c
     * @return true when the way there and back changes nothing
     */
    public boolean reversible(Parameters expert) {
        for (String name : SCALED) {
            if (expert.names().contains(name) && !reversible(expert.get(name))) {
                return false;
            }
        }
        return true;
    }

    private boolean reversible(Matrix matrix) {
        DoubleUnaryOperator stored = Scaling.rounding(matrix.backend());
        double[] row = new double[matrix.columns()];
        for (int i = 0; i < matrix.rows(); i++) {
            matrix.readRows(i, i + 1, row);
            for (double value : row) {
                double inside = stored.applyAsDouble(value * coefficient);
                if (!Double.isFinite(inside)
                        || Double.compare(stored.applyAsDouble(inside / coefficient), value) != 0) {
                    return false;
                }
            }
        }
        return true;
    }

    private static Parameters scaled(
            String argument, Parameters expert, String operation, DoubleUnaryOperator operator) {
        if (!expert.names().contains(BankPart.DOWN.key())) {
            throw Require.expected(argument, "a matrix named down", "a set without it");
        }
        Map<String, Matrix> result = new LinkedHashMap<>();
        try (Unfinished made = new Unfinished()) {
            for (String name : expert.names()) {
                Matrix matrix = expert.get(name);
                result.put(
                        name,
                        made.add(
                                SCALED.contains(name)
                                        ? Scaling.of(argument + "." + name, matrix, operation, operator)
                                        : Pieces.lasting(matrix)));
            }
            made.keep();
            return Parameters.of(result);
        }
    }
}
