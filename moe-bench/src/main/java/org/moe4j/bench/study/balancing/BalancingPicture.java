package org.moe4j.bench.study.balancing;

import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.moe4j.bench.study.balancing.BalancingResult.Reading;
import org.moe4j.bench.study.balancing.BalancingResult.Run;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;
import org.moe4j.bench.support.LineFigure.Reference;

/** Load and loss by step, a line for each method of balancing. */
public final class BalancingPicture {
    private static final int STEP_TICKS = 3;
    private static final List<Double> LOSS_TICKS = List.of(0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 15.0);

    private BalancingPicture() {}

    /**
     * The picture of a result.
     *
     * @param result of the study
     * @return two panels
     */
    public static LineFigure of(BalancingResult result) {
        BalancingSettings settings = result.settings();
        double most = BalancingLayers.EXPERTS / (double) BalancingLayers.TOP_K;
        return new LineFigure(
                "Does a layer learn its teacher's mixture from an uneven start?",
                settings.seeds() + (settings.seeds() == 1 ? " seed" : " seeds") + ", E " + BalancingLayers.EXPERTS
                        + ", K "
                        + BalancingLayers.TOP_K + ", D " + BalancingLayers.HIDDEN + ". At the start the router favours "
                        + BalancingLayers.FAVOURED + " experts. Measured on " + settings.heldOut()
                        + " held-out tokens.",
                Stream.of(BalancingMethod.values()).map(BalancingMethod::phrase).toList(),
                settings.seeds() == 1
                        ? "Lines: one seed."
                        : "Lines: mean over the seeds. Bands: smallest to largest seed.",
                List.of(
                        new Panel(
                                "(a) Load of the fullest expert",
                                steps(settings),
                                new Axis("tokens over the mean (ratio)", loadTicks(most), false),
                                List.of(new Reference(1, "even load = 1")),
                                lines(result, (run, point) -> point.maxOverMean())),
                        new Panel(
                                "(b) Loss on held-out tokens",
                                steps(settings),
                                new Axis("loss over the teacher's (ratio, log scale)", LOSS_TICKS, true),
                                List.of(new Reference(1, "teacher = 1")),
                                lines(result, Run::lossOverTeacher))));
    }

    private static Axis steps(BalancingSettings settings) {
        double each = settings.steps() / (double) STEP_TICKS;
        return new Axis(
                "training steps",
                IntStream.rangeClosed(0, STEP_TICKS).mapToObj(i -> i * each).toList(),
                false);
    }

    /** From 0 to the most there can be, by halves. */
    private static List<Double> loadTicks(double most) {
        return IntStream.rangeClosed(0, (int) Math.ceil(2 * most))
                .mapToObj(i -> i / 2.0)
                .toList();
    }

    private static List<List<Point>> lines(BalancingResult result, Reading reading) {
        List<List<Point>> lines = new ArrayList<>();
        for (BalancingMethod method : BalancingMethod.values()) {
            Run first = result.runs(method).get(0);
            List<Point> line = new ArrayList<>();
            for (int i = 0; i < first.points().size(); i++) {
                DoubleSummaryStatistics seeds = result.over(method, i, reading);
                line.add(new Point(first.points().get(i).step(), seeds.getAverage(), seeds.getMin(), seeds.getMax()));
            }
            lines.add(line);
        }
        return lines;
    }
}
