package org.moe4j.bench.study.collapse;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;
import org.moe4j.bench.support.LineFigure.Reference;

/** Differences of the function by number of experts, and of two students by step. */
public final class CollapsePicture {
    /** The same for all panels, so that their heights can be compared. */
    private static final List<Double> MAGNITUDES = DoubleStream.of(
                    1e-18, 1e-16, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1)
            .boxed()
            .toList();

    private static final List<TrainingCase> SHOWN =
            List.of(TrainingCase.SGD, TrainingCase.ADAMW, TrainingCase.MUON, TrainingCase.ADAMW_JOINED);

    private CollapsePicture() {}

    /**
     * The picture of a result.
     *
     * @param result of the study, with one backend in single precision and one in double at least
     * @return three panels
     */
    public static LineFigure of(CollapseResult result) {
        FunctionSize size = result.settings().sizes().get(0);
        return new LineFigure(
                "Are several shared experts one wider expert, and do both forms train alike?",
                "(a, b) the same weights in n parts and in one expert, D " + size.hiddenSize() + ", total width "
                        + size.width() + ", " + size.tokens() + " tokens. (c) an MoE layer, D " + TrainingLayers.HIDDEN
                        + ", shared experts of width " + TrainingLayers.widths() + " beside one of "
                        + TrainingLayers.width() + ".",
                List.of(),
                "Relative: the largest difference of two outputs over the largest output. Exactly 0 is drawn at the floor.",
                List.of(
                        functions(
                                "(a) Function, single precision",
                                result,
                                true,
                                new Reference(0x1p-24, "unit roundoff 2⁻²⁴")),
                        functions(
                                "(b) Function, double precision",
                                result,
                                false,
                                new Reference(0x1p-53, "unit roundoff 2⁻⁵³")),
                        training(result)));
    }

    private static Panel functions(String title, CollapseResult result, boolean single, Reference unitRoundoff) {
        FunctionSize size = result.settings().sizes().get(0);
        String backend = result.functions().stream()
                .filter(row -> row.single() == single)
                .findFirst()
                .orElseThrow()
                .backend();
        List<List<Point>> lines = new ArrayList<>();
        for (SharedCoefficients kind : SharedCoefficients.values()) {
            lines.add(result.functions().stream()
                    .filter(row ->
                            row.size().equals(size.name()) && row.backend().equals(backend))
                    .filter(row -> row.coefficients() == kind && row.experts() > 1)
                    .map(row -> point(row.experts(), row.relative()))
                    .toList());
        }
        int most = size.partitions().stream().mapToInt(List::size).max().orElseThrow();
        return new Panel(
                title,
                new Axis(
                        "shared experts n",
                        IntStream.rangeClosed(2, Math.max(3, most))
                                .mapToObj(i -> (double) i)
                                .toList(),
                        false),
                new Axis("relative difference (log scale)", MAGNITUDES, true),
                List.of(unitRoundoff),
                lines,
                Stream.of(SharedCoefficients.values())
                        .map(SharedCoefficients::phrase)
                        .toList());
    }

    private static Panel training(CollapseResult result) {
        double steps = result.settings().steps();
        return new Panel(
                "(c) Training, double precision",
                new Axis("training steps", List.of(0.0, steps / 4, steps / 2, 3 * steps / 4, steps), false),
                new Axis("relative deviation on held-out tokens (log scale)", MAGNITUDES, true),
                List.of(new Reference(CollapseResult.ALIKE, "alike: at most 10⁻¹⁰")),
                SHOWN.stream().map(training -> line(result, training)).toList(),
                SHOWN.stream().map(TrainingCase::phrase).toList());
    }

    private static List<Point> line(CollapseResult result, TrainingCase training) {
        return result.trajectories().stream()
                .filter(trajectory -> trajectory.training() == training)
                .flatMap(trajectory -> trajectory.points().stream())
                .map(point -> point(point.step(), point.deviation()))
                .toList();
    }

    /** One seed has no band. */
    private static Point point(double x, double y) {
        return new Point(x, y, y, y);
    }
}
