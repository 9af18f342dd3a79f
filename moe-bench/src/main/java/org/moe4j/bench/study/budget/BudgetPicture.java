package org.moe4j.bench.study.budget;

import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.moe4j.bench.study.budget.BudgetResult.Run;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;
import org.moe4j.bench.support.LineFigure.Reference;

/** Loss and specialization by step, a line for each variant. */
public final class BudgetPicture {
    private static final int STEP_TICKS = 3;
    private static final List<Double> LOSS_TICKS = List.of(0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0);
    private static final List<Double> RATIO_TICKS = List.of(0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3);
    private static final List<Double> VARIATION_TICKS = List.of(0.0, 0.2, 0.4, 0.6, 0.8, 1.0);

    private BudgetPicture() {}

    /** A number of a run at one of its points. */
    private interface Reading {
        double of(Run run, int point);
    }

    /**
     * The picture of a result.
     *
     * @param result of the study
     * @return four panels
     */
    public static LineFigure of(BudgetResult result) {
        BudgetSettings settings = result.settings();
        return new LineFigure(
                "What does a shared expert change, on top of the routed budget or out of it?",
                settings.seeds() + (settings.seeds() == 1 ? " seed" : " seeds") + ", E " + BudgetLayers.EXPERTS + ", K "
                        + BudgetLayers.TOP_K + ", F " + BudgetLayers.WIDTH + ", D " + BudgetLayers.HIDDEN
                        + " without a shared expert. Equal tokens and objective. Measured on " + settings.heldOut()
                        + " held-out tokens.",
                Stream.of(BudgetVariant.values())
                        .map(variant -> (variant.shares() ? "shared " : "") + variant.phrase())
                        .toList(),
                settings.seeds() == 1 ? "Lines: one seed." : "Mean over seeds; bands: least to most.",
                List.of(
                        loss(result),
                        besideNone("(b) Over none's, common part", result, BudgetTeacher.COMMON),
                        besideNone("(c) Over none's, no common part", result, BudgetTeacher.GROUPS),
                        specialization(result)));
    }

    private static Panel loss(BudgetResult result) {
        return new Panel(
                "(a) Loss, common part",
                steps(result.settings()),
                new Axis("loss over the teacher's (ratio, log scale)", LOSS_TICKS, true),
                List.of(new Reference(1, "teacher = 1")),
                lines(
                        result,
                        BudgetTeacher.COMMON,
                        (run, i) -> run.overTeacher(run.points().get(i).loss())));
    }

    private static Panel specialization(BudgetResult result) {
        return new Panel(
                "(d) Specialization, common part",
                steps(result.settings()),
                new Axis("total variation between groups (0 to 1)", VARIATION_TICKS, false),
                List.of(),
                lines(
                        result,
                        BudgetTeacher.COMMON,
                        (run, i) -> run.points().get(i).betweenGroups()));
    }

    /** Seed by seed, since teachers differ more from each other than variants do. */
    private static Panel besideNone(String title, BudgetResult result, BudgetTeacher teacher) {
        return new Panel(
                title,
                steps(result.settings()),
                new Axis("loss over that of none, same seed (ratio)", RATIO_TICKS, false),
                List.of(),
                lines(
                        result,
                        teacher,
                        (run, i) -> run.points().get(i).loss()
                                / result.runs(teacher, BudgetVariant.NONE)
                                        .get(run.seed() - 1)
                                        .points()
                                        .get(i)
                                        .loss()));
    }

    private static Axis steps(BudgetSettings settings) {
        double each = settings.steps() / (double) STEP_TICKS;
        return new Axis(
                "training steps",
                IntStream.rangeClosed(0, STEP_TICKS).mapToObj(i -> i * each).toList(),
                false);
    }

    private static List<List<Point>> lines(BudgetResult result, BudgetTeacher teacher, Reading reading) {
        List<List<Point>> lines = new ArrayList<>();
        for (BudgetVariant variant : BudgetVariant.values()) {
            List<Point> line = new ArrayList<>();
            List<BudgetResult.Point> points =
                    result.runs(teacher, variant).get(0).points();
            for (int i = 0; i < points.size(); i++) {
                int index = i;
                DoubleSummaryStatistics seeds = result.over(teacher, variant, run -> reading.of(run, index));
                line.add(new Point(points.get(i).step(), seeds.getAverage(), seeds.getMin(), seeds.getMax()));
            }
            lines.add(line);
        }
        return lines;
    }
}
