package org.moe4j.bench.study.budget;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.Stream;
import org.moe4j.bench.study.budget.BudgetResult.Point;
import org.moe4j.bench.study.budget.BudgetResult.Run;

/** A result made up of round numbers, for tests of what is written about a result. */
public final class SmallBudget {
    static final int TOKENS = 240;

    private SmallBudget() {}

    /**
     * Two seeds, two measurements, the teacher's loss being 0.25: without a shared expert students end at 0.5, with one on top at the
     * given losses, and with one out of the budget at 0.75.
     */
    public static BudgetResult ending(double first, double second) {
        List<Run> runs = new ArrayList<>();
        for (BudgetTeacher teacher : BudgetTeacher.values()) {
            for (BudgetVariant variant : BudgetVariant.values()) {
                for (int seed = 1; seed <= 2; seed++) {
                    double loss =
                            switch (variant) {
                                case NONE -> 0.5;
                                case ADDITIVE -> seed == 1 ? first : second;
                                case FEWER, NARROWER -> 0.75;
                            };
                    runs.add(run(teacher, variant, seed, loss));
                }
            }
        }
        List<StartScale> scales = Stream.of(BudgetVariant.values())
                .map(variant -> new StartScale(variant, 1, 1.1, 1.12, 0.01))
                .toList();
        return new BudgetResult(new BudgetSettings(2, 60, 30, TOKENS, 16), "FastBackend[float64]", runs, scales);
    }

    private static Run run(BudgetTeacher teacher, BudgetVariant variant, int seed, double loss) {
        return new Run(
                teacher,
                variant,
                seed,
                0.25,
                List.of(new Point(0, 4, 0.25, 0.0625), new Point(60, loss, 0.5, 0.03125)),
                rows(variant),
                Budget.planned(variant),
                variant.shares()
                        ? new Interventions(OptionalDouble.of(2 * loss), 1, OptionalDouble.of(3 * loss))
                        : new Interventions(OptionalDouble.empty(), 1, OptionalDouble.empty()));
    }

    /** As even as can be. */
    private static Rows rows(BudgetVariant variant) {
        int experts = variant.experts();
        int all = TOKENS * variant.topK();
        List<Integer> each = new ArrayList<>(Collections.nCopies(experts, all / experts));
        each.set(0, all / experts + all % experts);
        return new Rows(TOKENS, each, variant.shares() ? TOKENS : 0);
    }

    /** The same result with one run changed. */
    static BudgetResult with(BudgetResult result, Run changed) {
        return new BudgetResult(
                result.settings(),
                result.backend(),
                result.runs().stream()
                        .map(run -> run.teacher() == changed.teacher()
                                        && run.variant() == changed.variant()
                                        && run.seed() == changed.seed()
                                ? changed
                                : run)
                        .toList(),
                result.scales());
    }
}
