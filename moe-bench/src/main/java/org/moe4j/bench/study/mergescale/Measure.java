package org.moe4j.bench.study.mergescale;

import org.moe4j.merge.ScaledMerge;

/** One row of the table: what was measured, and of which convention. */
record Measure(String convention, Quantity quantity) {
    static Measure of(ScaledMerge merge, Quantity quantity) {
        return new Measure(merge.name(), quantity);
    }

    static Measure of(Quantity quantity) {
        return new Measure(quantity.reference(), quantity);
    }
}
