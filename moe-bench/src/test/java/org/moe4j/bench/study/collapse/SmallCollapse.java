package org.moe4j.bench.study.collapse;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;

/** A made-up result in which every claim holds, and what of it a test may change. */
record SmallCollapse(
        double single,
        double precise,
        double share,
        double gap,
        double residual,
        double gradient,
        double alike,
        double apart) {
    static final CollapseSettings SETTINGS = new CollapseSettings(List.of(FunctionSize.figure()), 20, 5, 64);

    static SmallCollapse good() {
        return new SmallCollapse(5e-8, 2e-16, 0.25, 0.5, 0.25, 1e-16, 3e-15, 0.4);
    }

    SmallCollapse withPrecise(double value) {
        return new SmallCollapse(single, value, share, gap, residual, gradient, alike, apart);
    }

    SmallCollapse withSingle(double value) {
        return new SmallCollapse(value, precise, share, gap, residual, gradient, alike, apart);
    }

    SmallCollapse withShare(double value) {
        return new SmallCollapse(single, precise, value, gap, residual, gradient, alike, apart);
    }

    SmallCollapse withGap(double value) {
        return new SmallCollapse(single, precise, share, value, residual, gradient, alike, apart);
    }

    SmallCollapse withResidual(double value) {
        return new SmallCollapse(single, precise, share, gap, value, gradient, alike, apart);
    }

    SmallCollapse withGradient(double value) {
        return new SmallCollapse(single, precise, share, gap, residual, value, alike, apart);
    }

    SmallCollapse withAlike(double value) {
        return new SmallCollapse(single, precise, share, gap, residual, gradient, value, apart);
    }

    SmallCollapse withApart(double value) {
        return new SmallCollapse(single, precise, share, gap, residual, gradient, alike, value);
    }

    CollapseResult result() {
        List<FunctionRow> rows = new ArrayList<>();
        for (boolean inSingle : new boolean[] {true, false}) {
            for (List<Integer> widths : FunctionSize.figure().partitions()) {
                for (SharedCoefficients kind : SharedCoefficients.values()) {
                    rows.add(row(inSingle, widths, kind));
                }
            }
        }
        return new CollapseResult(
                SETTINGS,
                rows,
                comparisons(),
                "Fine",
                Arrays.stream(TrainingCase.values()).map(this::trajectory).toList());
    }

    private List<Comparison> comparisons() {
        List<Comparison> rows = new ArrayList<>();
        for (boolean inSingle : new boolean[] {true, false}) {
            String backend = inSingle ? "Rough" : "Fine";
            double off = inSingle ? 1e-7 : 2 * gradient;
            rows.add(new Comparison("gradient", "gradients", true, backend, inSingle, off, inSingle ? 1 : 2));
            rows.add(new Comparison("routed", "rows inherited", true, backend, inSingle, single * 1e-7, 1));
            rows.add(new Comparison("routed", "rows of their own", false, backend, inSingle, gap, 1));
        }
        return rows;
    }

    private FunctionRow row(boolean inSingle, List<Integer> widths, SharedCoefficients kind) {
        boolean same = kind.collapse();
        double difference = same ? inSingle ? single : precise : gap;
        return new FunctionRow(
                "figure",
                widths,
                kind,
                inSingle ? "Rough" : "Fine",
                inSingle,
                2 * difference,
                difference,
                2,
                same ? OptionalDouble.of(share) : OptionalDouble.empty(),
                same ? OptionalDouble.empty() : OptionalDouble.of(residual),
                new FunctionRow.Cost(432, 864, widths.size()),
                new FunctionRow.Cost(432, 864, 1));
    }

    private Trajectory trajectory(TrainingCase training) {
        double end = training.alike() ? alike : apart;
        return new Trajectory(
                training,
                List.of(new Trajectory.Point(0, 1e-16), new Trajectory.Point(10, end), new Trajectory.Point(20, end)),
                2,
                0.25,
                training.alike() ? 0.25 : 0.5);
    }
}
