package org.moe4j.router;

import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;

/**
 * T·E finite logits, token after token, in the precision in which they came: single precision takes half the memory, and rough scores
 * can be made of it at twice the speed. What is computed from a logit is computed in double.
 */
final class LogitRows {
    private static final int CHECKED_AT_ONCE = 512;

    private final int experts;
    private final boolean single;
    private final float[] singles;
    private final double[] doubles;

    private LogitRows(int experts, boolean single, float[] singles, double[] doubles) {
        this.experts = experts;
        this.single = single;
        this.singles = singles;
        this.doubles = doubles;
    }

    /** Takes over T·E numbers; refuses what is not finite. */
    static LogitRows of(int experts, double[] logits) {
        return new LogitRows(experts, false, new float[0], logits).checked(areFinite(logits), 0);
    }

    /** Takes over numbers of the tokens from a certain one on; refuses what is not finite. */
    static LogitRows of(int experts, float[] logits, int firstToken) {
        return new LogitRows(experts, true, logits, new double[0]).checked(areFinite(logits), firstToken);
    }

    /** The numbers of a T×E matrix in its own precision; refuses what is not finite. */
    static LogitRows of(Matrix logits) {
        return isSingle(logits) ? part(logits, 0, logits.rows(), new float[0]) : of(logits.columns(), logits.toArray());
    }

    /** Some rows of a matrix in single precision; the room is taken over if it is of the right size. */
    static LogitRows part(Matrix logits, int from, int to, float[] room) {
        int size = Require.elements(to - from, logits.columns());
        float[] values = room.length == size ? room : new float[size];
        logits.readRows(from, to, values);
        return of(logits.columns(), values, from);
    }

    /** Whether single precision holds all numbers of a matrix. */
    static boolean isSingle(Matrix logits) {
        return logits.backend().unitRoundoff() == 0x1p-24;
    }

    int experts() {
        return experts;
    }

    int tokens() {
        return (single ? singles.length : doubles.length) / experts;
    }

    /** Whether {@link #singles} has the numbers. */
    boolean isSingle() {
        return single;
    }

    float[] singles() {
        return singles;
    }

    double get(int token, int expert) {
        int at = token * experts + expert;
        return single ? singles[at] : doubles[at];
    }

    /** Writes the E logits of a token. */
    void row(int token, double[] into) {
        int from = token * experts;
        if (!single) {
            System.arraycopy(doubles, from, into, 0, experts);
            return;
        }
        for (int e = 0; e < experts; e++) {
            into[e] = singles[from + e];
        }
    }

    /** A copy of all logits. */
    double[] toArray() {
        if (!single) {
            return doubles.clone();
        }
        double[] all = new double[singles.length];
        for (int i = 0; i < all.length; i++) {
            all[i] = singles[i];
        }
        return all;
    }

    /** Refuses the first logit that is not finite, if a look at all of them at once has found one. */
    private LogitRows checked(boolean finite, int firstToken) {
        for (int i = 0; !finite && i < tokens() * experts; i++) {
            double logit = get(i / experts, i % experts);
            if (!Double.isFinite(logit)) {
                throw new ArithmeticException("router logits: expected finite values but token "
                        + (firstToken + i / experts) + ", expert " + i % experts + " is " + logit);
            }
        }
        return this;
    }

    /** 0 times a number that is not finite is NaN: the sums of these products tell it, many at a time. */
    private static boolean areFinite(double[] logits) {
        double[] block = new double[Math.min(CHECKED_AT_ONCE, logits.length)];
        double[] zeros = new double[block.length];
        for (int from = 0; from < logits.length; from += block.length) {
            System.arraycopy(logits, Math.min(from, logits.length - block.length), block, 0, block.length);
            for (int i = 0; i < block.length; i++) {
                zeros[i] += block[i] * 0;
            }
        }
        boolean finite = true;
        for (double zero : zeros) {
            finite &= zero == 0;
        }
        return finite;
    }

    private static boolean areFinite(float[] logits) {
        if (logits.length < CHECKED_AT_ONCE) {
            float zero = 0;
            for (float logit : logits) {
                zero += logit * 0;
            }
            return zero == 0;
        }
        float[] block = new float[Math.min(CHECKED_AT_ONCE, logits.length)];
        float[] zeros = new float[block.length];
        for (int from = 0; from < logits.length; from += block.length) {
            System.arraycopy(logits, Math.min(from, logits.length - block.length), block, 0, block.length);
            for (int i = 0; i < block.length; i++) {
                zeros[i] += block[i] * 0;
            }
        }
        boolean finite = true;
        for (float zero : zeros) {
            finite &= zero == 0;
        }
        return finite;
    }
}
