package org.moe4j.bench.study;

import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Initializer;

/**
 * Tokens and what a student shall make of them: the teacher's output plus noise that nobody can learn.
 *
 * @param tokens (T×D), standard normal
 * @param targets (T×D)
 */
public record Examples(Matrix tokens, Matrix targets) implements AutoCloseable {
    /**
     * Standard normal tokens, and the teacher's output plus normal noise.
     *
     * @param teacher gives the targets
     * @param noise standard deviation, at least 0; its square is the loss that the teacher itself has
     * @param count T
     * @param seed of tokens and noise
     * @return to be closed
     */
    public static Examples draw(MoeLayer teacher, double noise, int count, long seed) {
        Backend backend = teacher.experts().backend();
        int width = teacher.experts().shape().hiddenSize();
        Matrix tokens = Initializer.normal(1).draw(backend, count, width, seed);
        try (Matrix clean = teacher.apply(tokens);
                Matrix drawn = Initializer.normal(noise).draw(backend, count, width, seed + 1)) {
            return new Examples(tokens, backend.add(clean, drawn));
        }
    }

    /**
     * {@code mean (output − target)²} over all tokens and columns.
     *
     * @param output (T×D)
     * @return the loss
     */
    public double loss(Matrix output) {
        try (Matrix difference = output.backend().linearCombination(1, output, -1, targets)) {
            return Norms.squares(difference) / ((double) targets.rows() * targets.columns());
        }
    }

    /**
     * Gradient of {@link #loss} in the output, times a factor.
     *
     * @param output (T×D)
     * @param factor as one over the number of micro-batches
     * @return (T×D), the caller's
     */
    public Matrix lossGradient(Matrix output, double factor) {
        double scale = 2 * factor / ((double) targets.rows() * targets.columns());
        return output.backend().linearCombination(scale, output, -scale, targets);
    }

    @Override
    public void close() {
        tokens.close();
        targets.close();
    }
}
