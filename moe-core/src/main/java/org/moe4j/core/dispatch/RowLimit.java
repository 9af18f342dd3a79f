package org.moe4j.core.dispatch;

import org.moe4j.core.dispatch.Capacity.Rounding;
import org.moe4j.core.internal.Require;

/** The number C of rows that an expert may take of a group of tokens. */
public sealed interface RowLimit {
    /**
     * A number of its own, whatever the group: {@code expert_capacity} of Transformers' Switch ({@code
     * huggingface/transformers}, {@code models/switch_transformers}).
     *
     * @param rows at least 1
     * @return the limit
     */
    static Fixed rows(int rows) {
        return new Fixed(rows);
    }

    /**
     * {@code ceil(T·K / E · factor)}; the {@code with…} methods change all but the factor.
     *
     * @param factor more than 0; 1 is an even share
     * @return the limit
     */
    static OfShare factor(double factor) {
        return new OfShare(factor, EvenShare.ASSIGNMENTS, Rounding.UP, 0, 1, ZeroRows.NO_LIMIT);
    }

    /**
     * Rows that one expert may take of a group.
     *
     * @param tokens T of the group
     * @param slots assignments of the group, T·K for a top-k router
     * @param experts E
     * @return 0 to T; T is no limit, since a token chooses an expert once
     */
    int rowsPerExpert(int tokens, int slots, int experts);

    /**
     * The share of an expert when all get the same, and its product with the factor, in double and in the order written: a
     * product that should be whole can come out just above or below, and not alike in both orders.
     */
    enum EvenShare {
        /** {@code (A / E) · factor}, A the assignments, T·K of a top-k router: Megatron-Core, MegaBlocks, OLMo-core. */
        ASSIGNMENTS,
        /** {@code (A · factor) / E}: V-MoE. */
        ASSIGNMENTS_FACTOR_FIRST,
        /** {@code (T · factor) / E}, whatever K: GShard, Switch, flaxformer. With K = 2 and factor 1 it is half of the others. */
        TOKENS;

        double rows(double factor, int tokens, int slots, int experts) {
            return switch (this) {
                case ASSIGNMENTS -> (double) slots / experts * factor;
                case ASSIGNMENTS_FACTOR_FIRST -> slots * factor / experts;
                case TOKENS -> tokens * factor / experts;
            };
        }
    }

    /** What it means that the share made whole is 0: few tokens, many experts, a small factor. */
    enum ZeroRows {
        /** No limit for this group, so that an expert may keep more rows of few tokens than of many: MegaBlocks. */
        NO_LIMIT,
        /** No rows: every assignment is dropped, as OLMo-core's formula says. */
        NO_ROWS,
        /** An error: V-MoE. A group without assignments is none. */
        REFUSED
    }

    /**
     * The same number for every group.
     *
     * @param rows at least 1
     */
    record Fixed(int rows) implements RowLimit {
        /**
         * Checks the number.
         *
         * @param rows at least 1
         * @throws IllegalArgumentException for {@code rows} below 1
         */
        public Fixed {
            Require.atLeast("rows", rows, 1);
        }

        @Override
        public int rowsPerExpert(int tokens, int slots, int experts) {
            requireGroup(tokens, slots, experts);
            return Math.min(rows, tokens);
        }
    }

    /**
     * A multiple of the even share. With {@code w} the product made whole: the minimum where {@code w} is not above it, else
     * {@code w} rounded up to a multiple; never more than the tokens. A minimum is taken as it is, so that one that is no
     * multiple stays none, as with GShard's given capacity.
     *
     * @param factor more than 0
     * @param share what the factor multiplies
     * @param rounding of the product to a whole number
     * @param minimum rows of an expert at least; 0 for none
     * @param multipleOf what a number above the minimum is rounded up to; 1 for any number
     * @param zeroRows what a whole number of 0 means; {@link ZeroRows#NO_LIMIT} with a minimum, which leaves no 0
     */
    record OfShare(double factor, EvenShare share, Rounding rounding, int minimum, int multipleOf, ZeroRows zeroRows)
            implements RowLimit {
        /**
         * Checks the numbers.
         *
         * @param factor more than 0
         * @param share what the factor multiplies
         * @param rounding of the product to a whole number
         * @param minimum rows of an expert at least; 0 for none
         * @param multipleOf what a number above the minimum is rounded up to; 1 for any number
         * @param zeroRows what a whole number of 0 means; {@link ZeroRows#NO_LIMIT} with a minimum, which leaves no 0
         * @throws IllegalArgumentException for a factor that is not finite and above 0, a minimum below 0, a multiple below 1, or
         *     no limit at zero rows beside a minimum
         */
        public OfShare {
            if (!(factor > 0 && factor < Double.POSITIVE_INFINITY)) {
                throw Require.expected("factor", "a finite number above 0", factor);
            }
            Require.atLeast("minimum", minimum, 0);
            Require.atLeast("multipleOf", multipleOf, 1);
            if (minimum > 0 && zeroRows != ZeroRows.NO_LIMIT) {
                throw Require.expected("zeroRows", "NO_LIMIT with a minimum, which leaves no 0", zeroRows);
            }
        }

        /**
         * The same limit of another share.
         *
         * @param other what the factor multiplies
         * @return a changed copy
         */
        public OfShare withShare(EvenShare other) {
            return new OfShare(factor, other, rounding, minimum, multipleOf, zeroRows);
        }

        /**
         * The same limit with another rounding.
         *
         * @param other of the product to a whole number
         * @return a changed copy
         */
        public OfShare withRounding(Rounding other) {
            return new OfShare(factor, share, other, minimum, multipleOf, zeroRows);
        }

        /**
         * The same limit with a minimum.
         *
         * @param rows rows of an expert at least; 0 for none
         * @return a changed copy
         */
        public OfShare withMinimum(int rows) {
            return new OfShare(factor, share, rounding, rows, multipleOf, zeroRows);
        }

        /**
         * The same limit rounded up to a multiple.
         *
         * @param rows what a number above the minimum is rounded up to; 1 for any number
         * @return a changed copy
         */
        public OfShare withMultipleOf(int rows) {
            return new OfShare(factor, share, rounding, minimum, rows, zeroRows);
        }

        /**
         * The same limit with another meaning of 0.
         *
         * @param meaning what a whole number of 0 means
         * @return a changed copy
         */
        public OfShare withZeroRows(ZeroRows meaning) {
            return new OfShare(factor, share, rounding, minimum, multipleOf, meaning);
        }

        @Override
        public int rowsPerExpert(int tokens, int slots, int experts) {
            requireGroup(tokens, slots, experts);
            if (tokens == 0 || slots == 0) {
                return 0;
            }
            double rows = share.rows(factor, tokens, slots, experts);
            double whole = rounding.whole(Math.max(rows, Double.MIN_VALUE)); // a product that vanishes is above 0 still
            if (minimum > 0 && whole <= minimum) {
                return Math.min(minimum, tokens);
            }
            if (whole == 0) {
                return ofZero(tokens, slots, experts);
            }
            return (int) Math.min(Math.ceil(whole / multipleOf) * multipleOf, tokens);
        }

        private int ofZero(int tokens, int slots, int experts) {
            return switch (zeroRows) {
                case NO_LIMIT -> tokens;
                case NO_ROWS -> 0;
                case REFUSED ->
                    throw Require.expected(
                            "capacity",
                            "at least 1 row per expert",
                            "0 of " + tokens + " tokens, " + slots + " assignments, " + experts + " experts at factor "
                                    + factor,
                            "more tokens, a larger factor, a minimum, or another ZeroRows");
            };
        }
    }

    private static void requireGroup(int tokens, int slots, int experts) {
        Require.atLeast("tokens", tokens, 0);
        Require.atLeast("slots", slots, 0);
        Require.atLeast("experts", experts, 1);
    }
}
