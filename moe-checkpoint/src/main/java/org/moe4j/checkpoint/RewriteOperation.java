package org.moe4j.checkpoint;

import java.util.List;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.core.internal.Require;

/** A change of a checkpoint after which its layers compute the same. */
public sealed interface RewriteOperation {
    /**
     * What messages call it.
     *
     * @return as {@code absorb-routed-scale}
     */
    String name();

    /** The scale of the routing weights moves into the down projections of the routed experts. */
    record AbsorbRoutedScale() implements RewriteOperation {
        @Override
        public String name() {
            return "absorb-routed-scale";
        }
    }

    /**
     * The factors of another merge convention; what is left of the old ones moves into the down projections.
     *
     * @param convention name of a {@link org.moe4j.merge.ScaledMerge}
     */
    record ToConvention(String convention) implements RewriteOperation {
        @Override
        public String name() {
            return "to-convention";
        }
    }

    /**
     * The tensors of MoE layers are stored in another type; those of 8 or 4 bits are decoded, wherever they are. The selection bias stays
     * as it is.
     *
     * @param type F64, F32, F16 or BF16
     */
    record StoreAs(ElementType type) implements RewriteOperation {
        /**
         * Checks the type.
         *
         * @param type F64, F32, F16 or BF16
         * @throws IllegalArgumentException for a type that layers cannot be stored in
         */
        public StoreAs {
            List<ElementType> types = List.of(ElementType.F64, ElementType.F32, ElementType.F16, ElementType.BF16);
            if (!types.contains(type)) {
                throw Require.expected("type", "one of " + types, type);
            }
        }

        @Override
        public String name() {
            return "dtype";
        }
    }

    /** One wide shared expert for several. */
    record CollapseShared() implements RewriteOperation {
        @Override
        public String name() {
            return "collapse-shared";
        }
    }

    /**
     * Several shared experts for a wide one.
     *
     * @param widths of the several
     */
    record SplitShared(List<Integer> widths) implements RewriteOperation {
        /**
         * Copies the widths.
         *
         * @param widths of the several
         */
        public SplitShared {
            widths = List.copyOf(widths);
        }

        @Override
        public String name() {
            return "split-shared";
        }
    }
}
