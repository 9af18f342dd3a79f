package org.moe4j.core.dispatch;

import java.util.Arrays;
import java.util.Set;
import org.moe4j.core.internal.Require;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.preset.PresetSection;

/** How many rows an expert may take; assignments beyond it are dropped. */
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
    static Capacity factor(double factor) {
        return factor(factor, Rounding.UP);
    }

    /**
     * {@code T·K / E · factor} rows per expert, made whole.
     *
     * @param factor more than 0; 1 is an even share
     * @param rounding to a whole number of rows
     * @return the limit
     */
    static Capacity factor(double factor, Rounding rounding) {
        return new Limited(factor, rounding);
    }

    /**
     * The capacity of a preset, from its section {@code capacity}: key {@code factor}, a number above 0, and key
     * {@code rounding}, up (the default) or down. Without the section nothing is dropped.
     *
     * @param preset the model's layer
     * @return its capacity
     * @throws IllegalArgumentException for an unknown key, a factor that is none, or a rounding without a factor
     */
    static Capacity from(Preset preset) {
        PresetSection section = preset.section("capacity");
        section.rejectUnknown(Set.of("factor", "rounding"));
        if (section.isEmpty()) {
            return dropless();
        }
        double factor = section.decimal("factor", Double.NaN);
        if (!isFactor(factor)) {
            throw section.wrong("factor", "a finite number above 0", section.text("factor", "absent"));
        }
        return factor(factor, section.constant("rounding", Rounding.class, Rounding.UP));
    }

    /**
     * Rows that one expert may take.
     *
     * @param routing what is to be dispatched
     * @return at least 0
     */
    int rowsPerExpert(Routing routing);

    /** How a multiple of the even share becomes a whole number of rows. */
    enum Rounding {
        /**
         * Up: Megatron-Core ({@code NVIDIA/Megatron-LM}, {@code megatron/core/transformer/moe/moe_utils.py},
         * {@code get_capacity}).
         */
        UP,
        /**
         * Down, and where that gives 0 rows, the rows of the expert with the most, so that nothing is dropped: MegaBlocks
         * ({@code databricks/megablocks}, {@code megablocks/layers/moe.py}, {@code expert_capacity} and
         * {@code forward_once}).
         */
        DOWN
    }

    /** No limit: every assignment is kept. */
    record Dropless() implements Capacity {
        @Override
        public int rowsPerExpert(Routing routing) {
            return routing.tokens();
        }
    }

    /**
     * A multiple of the even share: {@code C = ceil((T·K / E) · factor)} or {@code floor((T·K / E) · factor)}, the share first and
     * then the factor, in double as in Megatron-Core and MegaBlocks; a product that should be whole can come out just above or
     * below. With a routing of varying counts T·K is the number of assignments. Kept are the first C assignments of an
     * expert in the order of tokens and ranks (by position, as in MegaBlocks); the weights of the rest of a token are not
     * renormalised.
     *
     * <p>A product below 1 (few tokens, many experts, a small factor) is 0 when rounded down, and {@link Rounding#DOWN} then drops
     * nothing: an expert may keep more rows of few tokens than of many.
     *
     * @param factor more than 0
     * @param rounding to a whole number of rows
     */
    record Limited(double factor, Rounding rounding) implements Capacity {
        /**
         * Checks the factor.
         *
         * @param factor more than 0
         * @param rounding to a whole number of rows
         */
        public Limited {
            if (!isFactor(factor)) {
                throw Require.expected("factor", "a finite number above 0", factor);
            }
        }

        @Override
        public int rowsPerExpert(Routing routing) {
            double rows = (double) routing.slots() / routing.experts() * factor;
            if (rounding == Rounding.DOWN && rows < 1) {
                return Arrays.stream(routing.tokensPerExpert()).max().orElse(0);
            }
            double whole = rounding == Rounding.UP ? Math.ceil(rows) : Math.floor(rows);
            return (int) Math.min(whole, routing.tokens());
        }
    }

    private static boolean isFactor(double factor) {
        return factor > 0 && factor < Double.POSITIVE_INFINITY;
    }
}
