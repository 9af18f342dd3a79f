package org.moe4j.router;

import java.util.SplittableRandom;
import org.moe4j.core.internal.NormalQuantile;
import org.moe4j.core.internal.SeededRows;

/** The random numbers of one run: each purpose has a seed of its own, and each token a stream of its own in it. */
enum RandomNumbers {
    JITTER(1),
    LOGITS(2),
    SECOND_EXPERT(3);

    private final long salt;

    RandomNumbers(int place) {
        salt = place * 0xBF58476D1CE4E5B9L;
    }

    /** A seed that has nothing in common with those of other purposes. */
    long seed(long runSeed) {
        return new SplittableRandom(runSeed ^ salt).nextLong();
    }

    /** The stream of a token. */
    SplittableRandom ofToken(long runSeed, int token) {
        return SeededRows.stream(seed(runSeed), token);
    }

    static double normal(SplittableRandom random) {
        return NormalQuantile.of(SeededRows.open(random));
    }

    /** {@code −ln(−ln U)}. */
    static double gumbel(SplittableRandom random) {
        return -StrictMath.log(-StrictMath.log(SeededRows.open(random)));
    }
}
