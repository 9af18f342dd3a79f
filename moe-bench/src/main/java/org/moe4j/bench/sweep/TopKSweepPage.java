package org.moe4j.bench.sweep;

import java.util.List;
import java.util.Locale;
import org.moe4j.bench.limits.LimitsPage;
import org.moe4j.bench.support.Decimal;
import org.moe4j.bench.support.Table;

/** The measurements as text. */
public final class TopKSweepPage {
    private static final double MEGA = 1e6;

    private TopKSweepPage() {}

    /**
     * All numbers as they were measured.
     *
     * @param result of a run
     * @return the table of topk-sweep.csv
     */
    public static Table csv(TopKSweepResult result) {
        return new Table(
                List.of(
                        "backend",
                        "top_k",
                        "tokens",
                        "median_ms",
                        "min_ms",
                        "ratio",
                        "ratio_of_minima",
                        "arithmetic_ratio",
                        "experts_touched",
                        "bytes_touched",
                        "bytes_resident",
                        "calls"),
                1,
                result.rows().stream()
                        .map(row -> List.of(
                                result.sweep().kind().text(),
                                Integer.toString(row.topK()),
                                Integer.toString(result.sweep().tokens()),
                                Decimal.of(row.times().median()),
                                Decimal.of(row.times().minimum()),
                                Decimal.of(result.ratio(row)),
                                Decimal.of(result.ratioOfMinima(row)),
                                Decimal.of(result.arithmetic(row)),
                                Integer.toString(row.experts()),
                                Long.toString(result.touched(row)),
                                Long.toString(result.resident()),
                                Integer.toString(row.times().nanoseconds().size())))
                        .toList());
    }

    /**
     * The table that is printed.
     *
     * @param result of a run
     * @return the same numbers, rounded
     */
    public static Table rounded(TopKSweepResult result) {
        String own = "K " + result.sweep().size().topK();
        return new Table(
                List.of(
                        "K",
                        "median ms",
                        "min ms",
                        "time vs " + own,
                        "of minima",
                        "arithmetic vs " + own,
                        "experts touched",
                        "MB touched",
                        "MB resident"),
                0,
                result.rows().stream()
                        .map(row -> List.of(
                                Integer.toString(row.topK()),
                                format("%.2f", row.times().median()),
                                format("%.2f", row.times().minimum()),
                                format("%.2f", result.ratio(row)),
                                format("%.2f", result.ratioOfMinima(row)),
                                format("%.3f", result.arithmetic(row)),
                                Integer.toString(row.experts()),
                                format("%.1f", result.touched(row) / MEGA),
                                format("%.1f", result.resident() / MEGA)))
                        .toList());
    }

    /**
     * Below the table: what was measured, and what was not.
     *
     * @param result of a run
     * @return lines
     */
    public static String legend(TopKSweepResult result) {
        TopKSweep sweep = result.sweep();
        return LimitsPage.where(result.machine()) + "\nOne layer: D "
                + sweep.size().hiddenSize() + ", F "
                + sweep.size().intermediateSize() + ", E " + sweep.size().experts() + ", " + sweep.tokens()
                + " random tokens, " + sweep.kind().text() + "; all K on the same weights, called in turn, "
                + result.rows().get(0).times().nanoseconds().size() + " calls of each.\n"
                + "It is a layer and no model: attention, norms and head, which cost the same whatever K is, are not in these"
                + " times. With them the article on OLMoE-1B-7B (LLM Architecture Refresh 5, section 5) measured 2.12 times for"
                + " K 64 beside K 8, 8 times the expert arithmetic. Another K than a layer was trained with is a matter of"
                + " cost here, not of quality.";
    }

    /**
     * The page.
     *
     * @param result of a run
     * @param picture file name of the picture
     * @return Markdown
     */
    public static String markdown(TopKSweepResult result, String picture) {
        return "# What do more experts for a token cost?\n\n![Time and arithmetic by K, and the weights that are read]("
                + picture + ")\n\n" + rounded(result).markdown() + "\n"
                + legend(result).replace("\n", "\n\n") + "\n";
    }

    private static String format(String pattern, Object... values) {
        return String.format(Locale.ROOT, pattern, values);
    }
}
