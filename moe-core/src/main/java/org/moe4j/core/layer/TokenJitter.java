package org.moe4j.core.layer;

import java.util.Optional;
import java.util.SplittableRandom;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.SeededRows;

/**
 * Multiplies every number of every token by one that is drawn uniformly from (1 − ε, 1 + ε): {@code X̃ = X ⊙ U}, with mean 1 and
 * variance ε²/3.
 *
 * <p>A layer with a token jitter gives the jittered tokens to router, experts, shared experts and merge alike, as
 * {@code router_jitter_noise} of Mixtral and Switch Transformers does in version 4 of Transformers ({@code huggingface/transformers},
 * {@code models/mixtral/modeling_mixtral.py}, where the product is taken in place). A factor depends on seed and position alone,
 * not on backend, workers or JVM.
 *
 * @param epsilon ε, at least 0 and less than 1
 */
public record TokenJitter(double epsilon) {
    /** The use of a call's noise for which a layer takes its seed: {@link RoutingContext#noiseSeed(String)}. */
    public static final String USE = "tokens";

    /**
     * Checks the number.
     *
     * @param epsilon ε, at least 0 and less than 1
     * @throws IllegalArgumentException for {@code epsilon} other than a number of at least 0 and less than 1
     */
    public TokenJitter {
        if (!(epsilon >= 0 && epsilon < 1)) {
            throw Require.expected("epsilon", "a number of at least 0 and less than 1", epsilon);
        }
    }

    /**
     * Draws factors.
     *
     * @param backend makes the matrix
     * @param tokens T
     * @param hiddenSize D
     * @param seed of this draw
     * @return U (T×D)
     */
    public Matrix factors(Backend backend, int tokens, int hiddenSize, long seed) {
        return backend.matrix(tokens, hiddenSize, new RowSource() {
            @Override
            public void read(int row, float[] into) {
                SplittableRandom random = SeededRows.stream(seed, row);
                for (int i = 0; i < into.length; i++) {
                    into[i] = (float) next(random);
                }
            }

            @Override
            public void read(int row, double[] into) {
                SplittableRandom random = SeededRows.stream(seed, row);
                for (int i = 0; i < into.length; i++) {
                    into[i] = next(random);
                }
            }
        });
    }

    /** The tokens as the stages see them: another handle, or the product with the factors. */
    static Matrix seen(Matrix tokens, Optional<Matrix> factors) {
        return factors.map(f -> tokens.backend().multiply(tokens, f)).orElseGet(tokens::share);
    }

    private double next(SplittableRandom random) {
        return 1 + epsilon * (2 * SeededRows.open(random) - 1);
    }
}
