package org.moe4j.bench.study.mergescale;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import org.moe4j.bench.study.StudyPage;
import org.moe4j.bench.study.mergescale.MergeScaleResult.Row;
import org.moe4j.bench.support.Decimal;
import org.moe4j.bench.support.Table;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.preset.Preset;
import org.moe4j.merge.ActiveWidths;

/** The merge-scale study as tables and as a page: question, setup, table, picture, what it shows. */
public final class MergeScalePage {
    private MergeScalePage() {}

    /**
     * All numbers with all digits.
     *
     * @param result of the study
     * @return one line per row; cells without a number are empty
     */
    public static Table csv(MergeScaleResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (Row row : result.rows()) {
            rows.add(List.of(
                    row.panel(),
                    row.convention(),
                    row.quantity(),
                    Decimal.of(row.mean()),
                    Decimal.of(row.min()),
                    Decimal.of(row.max()),
                    row.predicted().isPresent() ? Decimal.of(row.predicted().getAsDouble()) : "",
                    row.published().map(BigDecimal::toPlainString).orElse("")));
        }
        return new Table(
                List.of("panel", "convention", "quantity", "mean", "min", "max", "predicted", "published"), 3, rows);
    }

    /**
     * Measured, predicted and published side by side, for reading.
     *
     * @param result of the study
     * @return rounded to four places; the published numbers with their own digits
     */
    public static Table table(MergeScaleResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (Row row : result.rows()) {
            rows.add(List.of(
                    row.panel(),
                    row.convention(),
                    row.quantity(),
                    rounded(row.mean()),
                    "[" + rounded(row.min()) + ", " + rounded(row.max()) + "]",
                    rounded(row.predicted(), "%.4f"),
                    row.published().map(BigDecimal::toPlainString).orElse(""),
                    rounded(row.difference(), "%+.4f")));
        }
        return new Table(
                List.of(
                        "panel",
                        "convention",
                        "quantity",
                        "measured",
                        "[min, max]",
                        "predicted",
                        "published",
                        "difference"),
                3,
                rows);
    }

    /**
     * Whether the measurements agree with the published ones, in one line.
     *
     * @param result of the study
     * @return a sentence
     */
    public static String verdict(MergeScaleResult result) {
        return result.disagreement()
                .map(worst -> "The measurements do not agree with the published ones: " + worst + ".")
                .orElseGet(() -> String.format(
                        Locale.ROOT,
                        "All %d means are within %s of the published ones; the ratios of panel c are exact within %.0e"
                                + " for every seed.",
                        result.rows().size(),
                        result.settings().tolerance(),
                        MergeScaleResult.EXACT_TOLERANCE));
    }

    /**
     * The page.
     *
     * @param result of the study
     * @param picture file name of the picture beside the page
     * @return Markdown; the same for the same numbers
     */
    public static String markdown(MergeScaleResult result, String picture) {
        return new StudyPage(
                        "Merge conventions and the scale of a fresh layer",
                        "A layer adds the routed and the shared output: `y = Σ r_i·f_i(x) + s·g(x)`. Which choice of `r` and"
                                + " `s` starts at the scale of the matched dense layer (the same experts side by side in"
                                + " one wide SwiGLU, all coefficients 1), forward and backward?\n"
                                + "This is Figure 70 of the report on Olmo's MoE recipe (Section 21.3), measured again.",
                        setup(result),
                        table(result).markdown(),
                        verdict(result),
                        "![Four panels of bars: output, input gradient, weight gradients, cosine](" + picture + ")",
                        findings(result))
                .markdown();
    }

    private static String setup(MergeScaleResult result) {
        MergeScaleSettings settings = result.settings();
        return String.join(
                "\n",
                "- Forward (panels a, d): " + settings.forwardSeeds() + " seeds × " + settings.forwardTokens()
                        + " tokens, " + sizes(settings.forward()) + ", " + result.forwardBackend()
                        + ". Only K routed experts exist: the expert at rank j of a token's choice is expert j.",
                "- Backward (panels b, c): " + settings.backwardSeeds() + " seeds × " + settings.backwardTokens()
                        + " tokens, " + sizes(settings.backward()) + ", " + result.backwardBackend()
                        + ". All experts exist; one random gradient of the output for all conventions.",
                "- Tokens and the gradient of the output are standard normal. Every weight, the router's included, is"
                        + " normal with standard deviation 0.01·√(2560/D), cut off at ±3 standard deviations.",
                "- Router: top K of E logits, softmax over the K. Ratios are of root mean squares over all entries; the"
                        + " cosine is that of the two outputs read as one long vector each. Each number is the mean over"
                        + " the seeds; the brackets hold the smallest and the largest seed.",
                "- Predictions: Equations 84 to 86 with the measured `sum_p_squared`, and what follows from the same"
                        + " assumptions.");
    }

    private static String findings(MergeScaleResult result) {
        return String.join(
                "\n",
                "- Olmo's rule (`r = K·p, s = 1`) starts at the dense scale: "
                        + mean(result, "olmo", Quantity.OUTPUT_RMS)
                        + " times its output, " + mean(result, "olmo", Quantity.INPUT_GRAD_RMS_FIXED)
                        + " times its input gradient with a fixed router, "
                        + mean(result, "olmo", Quantity.INPUT_GRAD_RMS_ROUTER)
                        + " times with the gradient through the router.",
                "- The three other rules start at "
                        + mean(result, "equal-branch-mass", Quantity.OUTPUT_RMS) + " to "
                        + mean(result, "routed-unit-sum", Quantity.OUTPUT_RMS) + " of the dense output.",
                "- They also change how fast the branches learn against each other: the routed down projections get "
                        + mean(result, "routed-unit-sum", Quantity.ROUTED_DOWN_GRAD_RMS) + ", "
                        + mean(result, "equal-branch-mass", Quantity.ROUTED_DOWN_GRAD_RMS) + " and "
                        + mean(result, "width-proportional", Quantity.ROUTED_DOWN_GRAD_RMS)
                        + " of Olmo's gradient, the shared one "
                        + mean(result, "routed-unit-sum", Quantity.SHARED_DOWN_GRAD_RMS) + ", "
                        + mean(result, "equal-branch-mass", Quantity.SHARED_DOWN_GRAD_RMS) + " and "
                        + mean(result, "width-proportional", Quantity.SHARED_DOWN_GRAD_RMS) + ".",
                "- What Olmo's rule has above 1 comes from the router's concentration: `sum_p_squared` is "
                        + String.format(
                                Locale.ROOT,
                                "%.4f",
                                result.row(Quantity.NONE, Quantity.SUM_P_SQUARED.text())
                                        .mean())
                        + ", uniform weights would give 1/K.",
                "- All of this is said of random initialization; it ranks no trained models.",
                "");
    }

    private static String mean(MergeScaleResult result, String convention, Quantity quantity) {
        return String.format(
                Locale.ROOT, "%.3f", result.row(convention, quantity.text()).mean());
    }

    /** The sizes of a layer, as D 2560, F 2560, shared 1280, E 48, K 4. */
    static String sizes(Preset preset) {
        ExpertShape routed = ExpertShape.routed(preset);
        ActiveWidths widths = ActiveWidths.of(preset);
        return "D " + ExpertShape.tokenWidth(preset) + ", F " + routed.intermediateSize() + ", shared "
                + widths.sharedWidth() + ", E " + routed.count() + ", K " + widths.topK();
    }

    private static String rounded(double value) {
        return String.format(Locale.ROOT, "%.4f", value);
    }

    private static String rounded(OptionalDouble value, String format) {
        return value.isPresent() ? String.format(Locale.ROOT, format, value.getAsDouble()) : "";
    }
}
