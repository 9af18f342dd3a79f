package org.moe4j.merge.rewrite;

import org.moe4j.merge.SharedScore;

/** What multiplies all shared experts of a token alike, so that it stands outside their sum. */
public sealed interface CommonCoefficient {
    /**
     * The factor s of a {@link org.moe4j.merge.ScaledMerge}: no parameter, the same in every step (Equation 76 of the report on
     * Olmo's MoE recipe).
     *
     * @param value s
     */
    record Fixed(double value) implements CommonCoefficient {
        @Override
        public String toString() {
            return value + ", fixed (Equation 76)";
        }
    }

    /**
     * What gates give that are the same constant whatever the token, as they stand: σ(0) = 1/2 where all gate rows are zero, 1/n
     * where a shared router has n equal rows.
     *
     * @param score of the merge
     * @param value 1/2 or 1/n
     */
    record ConstantGates(SharedScore score, double value) implements CommonCoefficient {
        @Override
        public String toString() {
            String rows = score == SharedScore.SIGMOID ? "gate rows of zero" : "equal gate rows";
            return value + " whatever the token, from " + rows + " (" + score + ")";
        }
    }

    /** {@code a(x) = σ(x·gᵀ)}, one gate on all shared experts, from n equal gate rows (Equation 77 of that report). */
    record CommonGate() implements CommonCoefficient {
        @Override
        public String toString() {
            return "one sigmoid gate, from equal gate rows (Equation 77)";
        }
    }
}
