package org.moe4j.bench.study.mergescale;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.moe4j.bench.study.mergescale.MergeScaleResult.Row;
import org.moe4j.bench.support.BarFigure;
import org.moe4j.bench.support.BarFigure.Bar;
import org.moe4j.bench.support.BarFigure.Legend;
import org.moe4j.bench.support.BarFigure.Panel;
import org.moe4j.bench.support.BarFigure.Series;
import org.moe4j.merge.ActiveWidths;

/** Figure 70 with what was measured, what was published, and the range of the seeds. */
public final class MergeScalePicture {
    private static final List<String> CONVENTIONS =
            List.of("olmo", "routed-unit-sum", "equal-branch-mass", "width-proportional");

    private MergeScalePicture() {}

    /**
     * The picture of a result.
     *
     * @param result of the study
     * @return four panels
     */
    public static BarFigure of(MergeScaleResult result) {
        Optional<String> dense = Optional.of("matched dense = 1");
        return new BarFigure(
                "Which merge rule starts at the dense scale, forward and backward?",
                subtitle(result.settings()),
                groups(ActiveWidths.of(result.settings().forward())),
                List.of(
                        new Panel(
                                "(a) Forward output RMS relative to matched dense",
                                "RMS ratio to matched dense",
                                1.2,
                                dense,
                                List.of(series(result, "output", Quantity.OUTPUT_RMS))),
                        new Panel(
                                "(b) Input-gradient RMS relative to matched dense",
                                "RMS ratio to matched dense",
                                1.2,
                                dense,
                                List.of(
                                        series(result, "router coefficients fixed", Quantity.INPUT_GRAD_RMS_FIXED),
                                        series(result, "including router gradient", Quantity.INPUT_GRAD_RMS_ROUTER))),
                        new Panel(
                                "(c) Weight-gradient RMS relative to the Olmo rule",
                                "gradient RMS ratio to Olmo",
                                1.2,
                                Optional.of("Olmo rule = 1"),
                                List.of(
                                        series(result, "routed down weight", Quantity.ROUTED_DOWN_GRAD_RMS),
                                        series(result, "shared down weight", Quantity.SHARED_DOWN_GRAD_RMS))),
                        new Panel(
                                "(d) Cosine similarity to matched dense output",
                                "cosine similarity",
                                1.1,
                                Optional.empty(),
                                List.of(series(result, "cosine", Quantity.COSINE)))),
                new Legend("measured, mean over seeds", "smallest to largest seed", "published (Figure 70)"));
    }

    /** Each convention and its coefficients. */
    private static List<List<String>> groups(ActiveWidths widths) {
        long routed = (long) widths.topK() * widths.routedWidth();
        return List.of(
                List.of("Olmo", "r = Kp, s = 1"),
                List.of("Routed unit sum", "r = p, s = 1"),
                List.of("Equal branch mass", "r = p/2, s = 1/2"),
                List.of(
                        "Width-proportional",
                        "r = " + fraction(routed, "p", widths.active()) + ", s = "
                                + fraction(widths.sharedWidth(), "", widths.active())));
    }

    /** In lowest terms, as 8p/9. */
    private static String fraction(long numerator, String factor, long denominator) {
        long divisor = BigInteger.valueOf(numerator)
                .gcd(BigInteger.valueOf(denominator))
                .longValue();
        return numerator / divisor + factor + "/" + denominator / divisor;
    }

    private static String subtitle(MergeScaleSettings settings) {
        return "Random initialization. Forward (a, d): " + settings.forwardSeeds() + " seeds × "
                + settings.forwardTokens() + " tokens, " + MergeScalePage.sizes(settings.forward())
                + ". Backward (b, c): " + settings.backwardSeeds() + " × " + settings.backwardTokens() + " tokens, "
                + MergeScalePage.sizes(settings.backward()) + ".";
    }

    private static Series series(MergeScaleResult result, String name, Quantity quantity) {
        List<Bar> bars = new ArrayList<>();
        for (String convention : CONVENTIONS) {
            Row row = result.row(convention, quantity.text());
            OptionalDouble published = row.published().isPresent()
                    ? OptionalDouble.of(row.published().get().doubleValue())
                    : OptionalDouble.empty();
            bars.add(new Bar(row.mean(), row.min(), row.max(), published));
        }
        return new Series(name, bars);
    }
}
