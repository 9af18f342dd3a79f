package org.moe4j.core.dispatch;

import org.moe4j.core.internal.Require;
import org.moe4j.core.preset.Preset;

/**
 * How many rows an expert may take, who is dropped beyond that, and what becomes of weights and tokens then.
 *
 * <p>Five answers that do not depend on one another: {@link RowLimit}, {@link CapacityScope}, {@link DropOrder},
 * {@link KeptWeights} and {@link UnservedTokens}. The rules of known frameworks are put together in {@link KnownCapacity}.
 */
public sealed interface Capacity {
    /**
     * No limit.
     *
     * @return nothing is ever dropped
     */
    static Capacity dropless() {
        return new Dropless();
    }

    /**
     * {@code ceil(T·K / E · factor)} rows per expert.
     *
     * @param factor more than 0; 1 is an even share
     * @return the limit
     */
    static Limited factor(double factor) {
        return of(RowLimit.factor(factor));
    }

    /**
     * {@code T·K / E · factor} rows per expert, made whole.
     *
     * @param factor more than 0; 1 is an even share
     * @param rounding to a whole number of rows
     * @return the limit
     */
    static Limited factor(double factor, Rounding rounding) {
        return of(RowLimit.factor(factor).withRounding(rounding));
    }

    /**
     * A limit over the whole batch that keeps the first assignments and leaves their weights as they were.
     *
     * @param rows how many rows an expert may take
     * @return the limit; its {@code with…} methods change the other four answers
     */
    static Limited of(RowLimit rows) {
        return new Limited(rows, CapacityScope.batch(), DropOrder.POSITION, KeptWeights.UNCHANGED, UnservedTokens.ZERO);
    }

    /**
     * The capacity of a preset, from its section {@code capacity}. Without the section nothing is dropped.
     *
     * @param preset the model's layer
     * @return its capacity
     * @throws IllegalArgumentException for an unknown key, a value that is none, or a key without effect beside the others
     */
    static Capacity from(Preset preset) {
        return CapacityKeys.read(preset.section("capacity"));
    }

    /**
     * Rows that one expert may take of a group; the group is the batch unless a {@link CapacityScope} cuts it.
     *
     * @param tokens tokens of the group
     * @param slots assignments of the group, T·K for a top-k router
     * @param experts E
     * @return 0 to {@code tokens}; {@code tokens} is no limit, since a token chooses an expert once
     * @throws IllegalArgumentException where the limit refuses 0 rows
     */
    int rowsPerExpert(int tokens, int slots, int experts);

    /**
     * Refuses a router whose scale the weights of what is kept would lose.
     *
     * @param scale the router's constant factor
     * @throws IllegalArgumentException for a scale other than 1 with {@link KeptWeights#UNIT_SUM}
     */
    default void requireScale(double scale) {}

    /** How a multiple of the even share becomes a whole number of rows. */
    enum Rounding {
        /** Up: Megatron-Core, V-MoE. */
        UP,
        /** Down: MegaBlocks, OLMo-core, GShard, Switch. */
        DOWN,
        /** To the nearest, halves to the even neighbour, as Python's {@code round}: flaxformer; an option of V-MoE. */
        HALF_EVEN;

        double whole(double rows) {
            return switch (this) {
                case UP -> Math.ceil(rows);
                case DOWN -> Math.floor(rows);
                case HALF_EVEN -> Math.rint(rows);
            };
        }
    }

    /** No limit: every assignment is kept. */
    record Dropless() implements Capacity {
        @Override
        public int rowsPerExpert(int tokens, int slots, int experts) {
            return tokens;
        }
    }

    /**
     * A limit.
     *
     * @param rows how many rows an expert may take of a group
     * @param scope what a group is
     * @param order which assignments of an expert come first
     * @param keptWeights the weights of what is kept
     * @param unserved what a token gets that no expert took
     */
    record Limited(
            RowLimit rows, CapacityScope scope, DropOrder order, KeptWeights keptWeights, UnservedTokens unserved)
            implements Capacity {
        @Override
        public int rowsPerExpert(int tokens, int slots, int experts) {
            return rows.rowsPerExpert(tokens, slots, experts);
        }

        @Override
        public void requireScale(double scale) {
            if (keptWeights == KeptWeights.UNIT_SUM && scale != 1) {
                throw Require.expected(
                        "router",
                        "scale 1 (kept weights of the capacity add up to 1 and would lose it)",
                        scale,
                        "take KeptWeights.UNCHANGED");
            }
        }

        /**
         * The same limit for other groups.
         *
         * @param groups what a group is
         * @return a changed copy
         */
        public Limited withScope(CapacityScope groups) {
            return new Limited(rows, groups, order, keptWeights, unserved);
        }

        /**
         * The same limit in another order.
         *
         * @param first which assignments of an expert come first
         * @return a changed copy
         */
        public Limited withOrder(DropOrder first) {
            return new Limited(rows, scope, first, keptWeights, unserved);
        }

        /**
         * The same limit with other weights of what is kept.
         *
         * @param weights of what is kept
         * @return a changed copy
         */
        public Limited withKeptWeights(KeptWeights weights) {
            return new Limited(rows, scope, order, weights, unserved);
        }

        /**
         * The same limit with another answer for tokens that no expert took.
         *
         * @param tokens what they get
         * @return a changed copy
         */
        public Limited withUnserved(UnservedTokens tokens) {
            return new Limited(rows, scope, order, keptWeights, tokens);
        }
    }
}
