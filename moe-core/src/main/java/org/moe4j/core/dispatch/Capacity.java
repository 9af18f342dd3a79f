package org.moe4j.core.dispatch;

import org.moe4j.core.internal.Require;

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
        return new Limited(factor);
    }

    /**
     * Rows that one expert may take.
     *
     * @param routing what is to be dispatched
     * @return at least 0
     */
    int rowsPerExpert(Routing routing);

    /** No limit: every assignment is kept. */
    record Dropless() implements Capacity {
        @Override
        public int rowsPerExpert(Routing routing) {
            return routing.tokens();
        }
    }

    /**
     * A multiple of the even share: {@code C = ceil((T·K / E) · factor)}, in the order and the double precision of
     * Megatron-Core, where a product that should be whole can round up; with a routing of varying counts T·K is the number of assignments. Kept are the first C assignments of an expert in the order of
     * tokens and ranks (by position, as in MegaBlocks); the weights of the rest of a token are not renormalised.
     *
     * @param factor more than 0
     * @see <a href="https://github.com/NVIDIA/Megatron-LM">Megatron-Core, transformer/moe/moe_utils.py</a>
     */
    record Limited(double factor) implements Capacity {
        /**
         * Checks the factor.
         *
         * @param factor more than 0
         */
        public Limited {
            if (!(factor > 0) || Double.isInfinite(factor)) {
                throw Require.expected("factor", "a finite number above 0", factor);
            }
        }

        @Override
        public int rowsPerExpert(Routing routing) {
            double rows = Math.ceil((double) routing.slots() / routing.experts() * factor);
            return (int) Math.min(rows, routing.tokens());
        }
    }
}
