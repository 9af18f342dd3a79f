package org.moe4j.core.dispatch;

import java.util.Set;
import org.moe4j.core.dispatch.Capacity.Rounding;
import org.moe4j.core.dispatch.RowLimit.EvenShare;
import org.moe4j.core.dispatch.RowLimit.ZeroRows;
import org.moe4j.core.preset.PresetSection;

/** Reads the section {@code capacity} of a preset. A key that could change nothing beside the others is an error. */
final class CapacityKeys {
    private static final Set<String> KNOWN = Set.of(
            "factor",
            "share",
            "rounding",
            "minimum",
            "multipleOf",
            "zeroRows",
            "rows",
            "scope",
            "groupSize",
            "order",
            "keptWeights",
            "unserved");
    private static final Set<String> OF_FACTOR = Set.of("share", "rounding", "minimum", "multipleOf", "zeroRows");

    private final PresetSection section;

    private CapacityKeys(PresetSection section) {
        this.section = section;
    }

    static Capacity read(PresetSection section) {
        section.rejectUnknown(KNOWN);
        return section.isEmpty() ? Capacity.dropless() : new CapacityKeys(section).limited();
    }

    private Capacity limited() {
        return Capacity.of(rows())
                .withScope(scope())
                .withOrder(section.constant("order", DropOrder.class, DropOrder.POSITION))
                .withKeptWeights(section.constant("keptWeights", KeptWeights.class, KeptWeights.UNCHANGED))
                .withUnserved(section.constant("unserved", UnservedTokens.class, UnservedTokens.ZERO));
    }

    private RowLimit rows() {
        if (section.has("rows")) {
            without("factor", "capacity.rows");
            OF_FACTOR.forEach(key -> without(key, "capacity.rows"));
            return RowLimit.rows(section.positive("rows"));
        }
        double factor = section.decimal("factor", Double.NaN);
        if (!(factor > 0)) {
            throw section.wrong("factor", "a finite number above 0", section.text("factor", "absent"));
        }
        RowLimit.OfShare limit = RowLimit.factor(factor)
                .withShare(section.constant("share", EvenShare.class, EvenShare.ASSIGNMENTS))
                .withRounding(section.constant("rounding", Rounding.class, Rounding.UP))
                .withMultipleOf(section.has("multipleOf") ? section.positive("multipleOf") : 1);
        if (section.has("minimum")) {
            without("zeroRows", "capacity.minimum, which leaves no 0");
            return limit.withMinimum(section.positive("minimum"));
        }
        if (limit.rounding() == Rounding.UP) {
            without("zeroRows", "capacity.rounding = up, which gives no 0");
        }
        return limit.withZeroRows(section.constant("zeroRows", ZeroRows.class, ZeroRows.NO_LIMIT));
    }

    private CapacityScope scope() {
        String scope = section.text("scope", "batch");
        if (!scope.equals("groups")) {
            without("groupSize", "capacity.scope = " + scope);
        }
        return switch (scope) {
            case "batch" -> CapacityScope.batch();
            case "groups" -> CapacityScope.groups(section.positive("groupSize"));
            case "sequences" -> CapacityScope.sequences();
            default -> throw section.wrong("scope", "one of [batch, groups, sequences]", scope);
        };
    }

    private void without(String key, String other) {
        if (section.has(key)) {
            throw section.wrong(key, "no such key beside " + other, section.text(key, ""));
        }
    }
}
