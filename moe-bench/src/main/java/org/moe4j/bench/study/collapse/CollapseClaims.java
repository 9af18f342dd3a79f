package org.moe4j.bench.study.collapse;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;
import org.moe4j.bench.study.collapse.Claim.Relation;

/** What has to hold for the study to show what it is there to show. */
final class CollapseClaims {
    /** Two numbers of one order of magnitude. */
    private static final double SAME_ORDER = 10;

    private final CollapseResult result;
    private final List<Claim> claims = new ArrayList<>();

    private CollapseClaims(CollapseResult result) {
        this.result = result;
    }

    static List<Claim> of(CollapseResult result) {
        CollapseClaims all = new CollapseClaims(result);
        for (SharedCoefficients kind : SharedCoefficients.values()) {
            if (kind.collapse()) {
                all.same(kind);
            }
        }
        all.distinct();
        all.figure();
        all.costs();
        all.comparisons();
        all.trainings();
        return List.copyOf(all.claims);
    }

    private void same(SharedCoefficients kind) {
        Predicate<FunctionRow> ofKind = row -> row.coefficients() == kind;
        Predicate<FunctionRow> single = ofKind.and(FunctionRow::single);
        Predicate<FunctionRow> precise = ofKind.and(row -> !row.single());
        String name = kind.phrase();
        most(
                "function",
                name + ", double: |Δ| / max norm",
                rows(precise, FunctionRow::relative),
                CollapseResult.ROUNDING);
        most("function", name + ", single: |Δ| / bound", rows(single, CollapseClaims::ofBound), 1);
        most("function", name + ", double: |Δ| / bound", rows(precise, CollapseClaims::ofBound), 1);
    }

    private static double ofBound(FunctionRow row) {
        return row.ofBound().orElseThrow();
    }

    private void distinct() {
        Predicate<FunctionRow> distinct = row -> !row.coefficients().collapse();
        least(
                "function",
                "distinct gates: |Δ| / max norm",
                rows(distinct, FunctionRow::relative),
                CollapseResult.APART);
        least(
                "function",
                "distinct gates: residual of the best fit",
                result.functions().stream().flatMapToDouble(row -> row.residual().stream()),
                CollapseResult.APART);
    }

    /** What Figure 68 of the report on Olmo's MoE recipe prints. */
    private void figure() {
        Predicate<FunctionRow> three =
                row -> row.size().equals(FunctionSize.figure().name()) && row.experts() == 3;
        Predicate<FunctionRow> unit = row -> row.coefficients() == SharedCoefficients.UNIT;
        most(
                "function",
                "three experts, two tokens, single: |Δ|",
                rows(three.and(unit).and(FunctionRow::single), FunctionRow::differenceOfTwo),
                SAME_ORDER * CollapseResult.PUBLISHED_DIFFERENCE);
        exactly(
                "three experts: parameters",
                rows(three, row -> row.parts().parameters()),
                CollapseResult.PUBLISHED_PARAMETERS);
        exactly(
                "one wide expert: parameters",
                rows(three, row -> row.wide().parameters()),
                CollapseResult.PUBLISHED_PARAMETERS);
    }

    private void costs() {
        exactly(
                "all partitions: parameters, parts − wide",
                rows(row -> true, row -> row.parts().parameters() - row.wide().parameters()),
                0);
        exactly(
                "all partitions: operations per token, parts − wide",
                rows(
                        row -> true,
                        row -> row.parts().flopsPerToken() - row.wide().flopsPerToken()),
                0);
    }

    private void comparisons() {
        List<String> cases =
                result.comparisons().stream().map(Comparison::about).distinct().toList();
        for (String about : cases) {
            List<Comparison> rows = result.comparisons().stream()
                    .filter(row -> row.about().equals(about))
                    .toList();
            String part = rows.get(0).part();
            if (rows.get(0).same()) {
                most(part, about + ", single: |Δ| / max norm", relative(rows, true), CollapseResult.SINGLE_ROUNDING);
                most(part, about + ", double: |Δ| / max norm", relative(rows, false), CollapseResult.ROUNDING);
            } else {
                least(
                        part,
                        about + ": |Δ| / max norm",
                        rows.stream().mapToDouble(Comparison::relative),
                        CollapseResult.APART);
            }
        }
    }

    private static DoubleStream relative(List<Comparison> rows, boolean single) {
        return rows.stream().filter(row -> row.single() == single).mapToDouble(Comparison::relative);
    }

    private void trainings() {
        for (Trajectory trajectory : result.trajectories()) {
            String about = trajectory.training().phrase() + ": deviation";
            if (trajectory.training().alike()) {
                most("training", about, DoubleStream.of(trajectory.largest()), CollapseResult.ALIKE);
            } else {
                least("training", about, DoubleStream.of(trajectory.end()), CollapseResult.DIVERGED);
            }
        }
    }

    private DoubleStream rows(Predicate<FunctionRow> which, ToDoubleFunction<FunctionRow> quantity) {
        return result.functions().stream().filter(which).mapToDouble(quantity);
    }

    /** The largest is not above the limit; nothing is claimed of nothing. */
    private void most(String part, String about, DoubleStream values, double limit) {
        values.max().ifPresent(largest -> claims.add(new Claim(part, about, largest, Relation.AT_MOST, limit)));
    }

    private void least(String part, String about, DoubleStream values, double limit) {
        values.min().ifPresent(smallest -> claims.add(new Claim(part, about, smallest, Relation.AT_LEAST, limit)));
    }

    /** The one farthest from the limit is that number. */
    private void exactly(String about, DoubleStream values, double limit) {
        values.boxed()
                .reduce((a, b) -> Math.abs(b - limit) > Math.abs(a - limit) ? b : a)
                .ifPresent(farthest -> claims.add(new Claim("cost", about, farthest, Relation.EXACTLY, limit)));
    }
}
