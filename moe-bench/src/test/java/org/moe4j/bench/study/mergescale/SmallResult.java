package org.moe4j.bench.study.mergescale;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.moe4j.bench.study.mergescale.MergeScaleResult.Row;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;

/** A result made of the published numbers, for tests of what is written about a result. */
public final class SmallResult {
    private SmallResult() {}

    /** Every mean is the published number plus {@code shift}; the seeds lie a thousandth to both sides. */
    public static MergeScaleResult published(double shift) {
        MergeScaleSettings settings = MergeScaleSettings.published();
        List<Row> rows = new ArrayList<>();
        List<ScaledMerge> conventions = Quantity.conventions(ActiveWidths.of(settings.forward()));
        for (Quantity quantity : Quantity.values()) {
            for (int i = 0; i < (quantity.perConvention() ? 4 : 1); i++) {
                String convention =
                        quantity.perConvention() ? conventions.get(i).name() : quantity.reference();
                BigDecimal published = quantity.published(i);
                double mean = published.doubleValue() + shift;
                rows.add(new Row(
                        quantity.panel(),
                        convention,
                        quantity.text(),
                        mean,
                        mean - 0.001,
                        mean + 0.001,
                        quantity == Quantity.SUM_P_SQUARED ? OptionalDouble.empty() : OptionalDouble.of(mean),
                        Optional.of(published),
                        false));
            }
        }
        return new MergeScaleResult(settings, "FastBackend[float32]", "FastBackend[float64]", rows);
    }
}
