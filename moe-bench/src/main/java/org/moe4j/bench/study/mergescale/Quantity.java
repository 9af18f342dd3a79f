package org.moe4j.bench.study.mergescale;

import java.math.BigDecimal;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;

/**
 * What the merge-scale study measures, in the order of its table, with what Figure 70 and Section 21.3 of the report on
 * Olmo's MoE recipe publish for each convention.
 */
enum Quantity {
    OUTPUT_RMS("a", "1.016", "0.411", "0.205", "0.216"),
    INPUT_GRAD_RMS_FIXED("b", "1.016", "0.410", "0.205", "0.216"),
    INPUT_GRAD_RMS_ROUTER("b", "1.054", "0.417", "0.208", "0.225"),
    ROUTED_DOWN_GRAD_RMS("c", "1.000", "0.250", "0.125", "0.222"),
    SHARED_DOWN_GRAD_RMS("c", "1.000", "1.000", "0.500", "0.111"),
    COSINE("d", "0.984", "0.812", "0.812", "0.970"),
    SUM_P_SQUARED(Quantity.NONE, "0.2589"),
    BRANCH_RMS_RATIO(Quantity.NONE, "0.7082"),
    DENSE_ROUTED_DOWN_GRAD(Quantity.NONE, "0.98"),
    DENSE_SHARED_DOWN_GRAD(Quantity.NONE, "1.00");

    /** Stands for a panel or a convention where there is none. */
    static final String NONE = "-";

    /** The matched dense reference, where a convention is named. */
    static final String DENSE = "dense";

    private final String panel;

    @SuppressWarnings("ImmutableEnumChecker") // an unmodifiable list of immutable numbers
    private final List<BigDecimal> published;

    Quantity(String panel, String... published) {
        this.panel = panel;
        this.published = Arrays.stream(published).map(BigDecimal::new).toList();
    }

    /** The four conventions of Table 37, in its order. */
    static List<ScaledMerge> conventions(ActiveWidths widths) {
        return List.of(
                ScaledMerge.olmo(widths),
                ScaledMerge.routedUnitSum(widths),
                ScaledMerge.equalBranchMass(widths),
                ScaledMerge.widthProportional(widths));
    }

    /** Panel of the figure, or {@link #NONE}. */
    String panel() {
        return panel;
    }

    /** Whether there is one value for each convention. */
    boolean perConvention() {
        return published.size() > 1;
    }

    /** Name of what was measured where there is no convention. */
    String reference() {
        return name().startsWith("DENSE") ? DENSE : NONE;
    }

    /** The published value, with the published digits. */
    BigDecimal published(int convention) {
        return published.get(convention);
    }

    /** Whether the value follows exactly, because the coefficients differ by constant factors only. */
    boolean exact() {
        return this == ROUTED_DOWN_GRAD_RMS || this == SHARED_DOWN_GRAD_RMS;
    }

    /** The name that scripts parse. */
    String text() {
        return name().toLowerCase(Locale.ROOT);
    }
}
