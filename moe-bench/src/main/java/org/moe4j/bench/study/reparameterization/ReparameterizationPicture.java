package org.moe4j.bench.study.reparameterization;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Line;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Run;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;
import org.moe4j.bench.support.LineFigure.Reference;

/** Deviation by step, a line for each treatment. */
public final class ReparameterizationPicture {
    private static final int STEP_TICKS = 4;
    private static final Axis DEVIATION = new Axis(
            "deviation of outputs over the largest (ratio, log scale)",
            List.of(1e-16, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0),
            true);

    private ReparameterizationPicture() {}

    /**
     * The picture of a result: the last convention, whose factors are no powers of two.
     *
     * @param result of the study
     * @return three panels
     */
    public static LineFigure of(ReparameterizationResult result) {
        List<Line> mapped = result.run(Descent.ADAMW).lines(Treatment.MAPPED);
        Line shown = mapped.get(mapped.size() - 1);
        return new LineFigure(
                "Which training settings follow a layer whose merge factors moved into its down projections?",
                "From olmo to " + shown.convention() + ": routed down projections times "
                        + ReparameterizationSetup.plain(shown.routed())
                        + ", shared ones times " + ReparameterizationSetup.plain(shown.shared())
                        + ". The same function before training.",
                List.of(),
                "Lines: largest difference of outputs on " + result.settings().heldOut()
                        + " held-out tokens, over the original's largest output.",
                List.of(
                        panel(
                                result,
                                "(a) SGD with momentum",
                                Descent.MOMENTUM,
                                Treatment.MAPPED,
                                Treatment.UNCHANGED,
                                Treatment.WITHOUT_DECAY),
                        panel(
                                result,
                                "(b) AdamW",
                                Descent.ADAMW,
                                Treatment.MAPPED,
                                Treatment.UNCHANGED,
                                Treatment.WITHOUT_DECAY,
                                Treatment.WITHOUT_EPSILON),
                        panel(
                                result,
                                "(c) AdamW, clipped or rewritten half-way",
                                Descent.ADAMW,
                                Treatment.CLIPPED_BACK,
                                Treatment.CLIPPED,
                                Treatment.HALFWAY,
                                Treatment.HALFWAY_STATE_KEPT)));
    }

    private static Panel panel(
            ReparameterizationResult result, String title, Descent descent, Treatment... treatments) {
        double each = result.settings().steps() / (double) STEP_TICKS;
        return new Panel(
                title,
                new Axis(
                        "training steps",
                        IntStream.rangeClosed(0, STEP_TICKS)
                                .mapToObj(i -> i * each)
                                .toList(),
                        false),
                DEVIATION,
                List.of(new Reference(ReparameterizationResult.FOLLOWS, "above: does not follow")),
                Stream.of(treatments)
                        .map(treatment -> line(result.run(descent), treatment))
                        .toList(),
                Stream.of(treatments).map(ReparameterizationPicture::label).toList());
    }

    /** Short, as two of them stand side by side above a panel. */
    private static String label(Treatment treatment) {
        return switch (treatment) {
            case MAPPED, UNCHANGED -> treatment.phrase();
            case WITHOUT_EPSILON -> "all but ε";
            case WITHOUT_DECAY -> "all but decay";
            case CLIPPED -> "clip: own norm";
            case CLIPPED_BACK -> "clip: norm mapped";
            case HALFWAY -> "state mapped";
            case HALFWAY_STATE_KEPT -> "state as it was";
        };
    }

    private static List<Point> line(Run run, Treatment treatment) {
        List<Line> lines = run.lines(treatment);
        return lines.get(lines.size() - 1).points().stream()
                .map(point -> new Point(point.step(), point.function(), point.function(), point.function()))
                .toList();
    }
}
