package org.moe4j.bench.layer;

import java.util.Locale;
import org.moe4j.bench.layer.CapacityWords.Rows;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.Capacity.Rounding;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.DropOrder;
import org.moe4j.core.dispatch.KeptWeights;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.dispatch.RowLimit.EvenShare;
import org.moe4j.core.dispatch.RowLimit.ZeroRows;
import org.moe4j.core.dispatch.UnservedTokens;

/** The library's capacity that some words describe. */
final class LibraryCapacity {
    private LibraryCapacity() {}

    static Capacity of(CapacityWords words) {
        return Capacity.of(rows(words.rows()))
                .withScope(scope(words.scope()))
                .withOrder(constant(DropOrder.class, words.order()))
                .withKeptWeights(constant(KeptWeights.class, words.keptWeights()))
                .withUnserved(constant(UnservedTokens.class, words.unserved()));
    }

    static RowLimit rows(Rows rows) {
        if (rows.fixed() > 0) {
            return RowLimit.rows(rows.fixed());
        }
        return RowLimit.factor(rows.factor())
                .withShare(constant(EvenShare.class, rows.share()))
                .withRounding(constant(Rounding.class, rows.rounding()))
                .withMinimum(rows.minimum())
                .withMultipleOf(rows.multipleOf())
                .withZeroRows(constant(ZeroRows.class, rows.zeroRows()));
    }

    static CapacityScope scope(String word) {
        return switch (word) {
            case "batch" -> CapacityScope.batch();
            case "sequences" -> CapacityScope.sequences();
            default -> CapacityScope.groups(Integer.parseInt(word));
        };
    }

    private static <E extends Enum<E>> E constant(Class<E> type, String word) {
        return Enum.valueOf(type, word.toUpperCase(Locale.ROOT).replace('-', '_'));
    }
}
