package org.moe4j.bench.study.budget;

import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.moe4j.bench.study.budget.BudgetResult.Point;
import org.moe4j.bench.study.budget.BudgetResult.Run;

/** What the numbers of the shared-budget study say, as far as its seeds agree. */
final class BudgetFindings {
    private final BudgetResult result;

    private BudgetFindings(BudgetResult result) {
        this.result = result;
    }

    /** Lines of a list. */
    static String of(BudgetResult result) {
        BudgetFindings findings = new BudgetFindings(result);
        return String.join(
                "\n",
                findings.budget(),
                findings.losses(BudgetTeacher.COMMON),
                findings.losses(BudgetTeacher.GROUPS),
                findings.chance(),
                findings.sharedOff(),
                findings.routedInstead(),
                findings.specialization(),
                findings.rows(),
                "- Widths, steps and seeds were settled after trials with other ones, so that the seeds are no independent test of"
                        + " the choice: with the common part, `additive` and `fewer` were below `none` in every trial as well;"
                        + " without it, 3 seeds now and then agreed on what 5 do not.",
                "- These are results of these two teachers, of layers of this size and of this training. They do not say what a"
                        + " shared expert holds in a language model, nor that routed experts hold what no other does.",
                "");
    }

    private String budget() {
        Budget none = budget(BudgetVariant.NONE);
        Budget additive = budget(BudgetVariant.ADDITIVE);
        Budget fewer = budget(BudgetVariant.FEWER);
        Budget narrower = budget(BudgetVariant.NARROWER);
        return "- Beside `none`, `fewer` stores "
                + more(none.stored().experts(), fewer.stored().experts())
                + " numbers in experts and computes "
                + more(none.active().experts(), fewer.active().experts())
                + " operations in them for a token; its router has a row less, and a token "
                + selections(BudgetVariant.FEWER) + " sets of experts to go to instead of "
                + selections(BudgetVariant.NONE) + ". `narrower` computes "
                + more(none.active().experts(), narrower.active().experts()) + " and stores "
                + more(none.stored().experts(), narrower.stored().experts())
                + ": a width that K experts give up is given up by E. `additive` stores "
                + more(none.stored().experts(), additive.stored().experts()) + " and computes "
                + more(none.active().experts(), additive.active().experts()) + ".";
    }

    private Budget budget(BudgetVariant variant) {
        return result.runs(BudgetTeacher.COMMON, variant).get(0).budget();
    }

    /** As "as many (1728)" or "360 less". */
    private static String more(double none, double was) {
        if (was == none) {
            return "as many (" + BudgetTables.whole(none) + ")";
        }
        return BudgetTables.whole(Math.abs(was - none)) + (was > none ? " more" : " less");
    }

    /** E over K. */
    private static long selections(BudgetVariant variant) {
        return IntStream.rangeClosed(1, variant.topK())
                .asLongStream()
                .reduce(1, (product, i) -> product * (variant.experts() - variant.topK() + i) / i);
    }

    private String losses(BudgetTeacher teacher) {
        String means = Stream.of(BudgetVariant.values())
                .map(variant -> "`" + variant.text() + "` "
                        + BudgetTables.rounded(
                                result.over(teacher, variant, Run::ending).getAverage()))
                .collect(Collectors.joining(", "));
        String beside = Stream.of(BudgetVariant.values())
                .filter(BudgetVariant::shares)
                .map(variant -> "`" + variant.text() + "` " + besideNone(teacher, variant))
                .collect(Collectors.joining("; "));
        return "- Teacher `" + teacher.text() + "` (" + teacher.phrase() + "): the loss ends at " + means
                + " times the teacher's" + (result.settings().seeds() == 1 ? "" : " on average over the seeds")
                + ". Beside `none`: " + beside + ".";
    }

    /** Differences to the student without a shared expert of the same seed. */
    private String besideNone(BudgetTeacher teacher, BudgetVariant variant) {
        List<Run> none = result.runs(teacher, BudgetVariant.NONE);
        List<Run> runs = result.runs(teacher, variant);
        double[] differences = IntStream.range(0, runs.size())
                .mapToDouble(i -> runs.get(i).ending() - none.get(i).ending())
                .toArray();
        DoubleSummaryStatistics all = DoubleStream.of(differences).summaryStatistics();
        if (all.getMax() < 0) {
            return "is lower in " + every() + " (by " + range(-all.getMax(), -all.getMin()) + ")";
        }
        if (all.getMin() > 0) {
            return "is higher in " + every() + " (by " + range(all.getMin(), all.getMax()) + ")";
        }
        long lower = DoubleStream.of(differences).filter(d -> d < 0).count();
        return "is lower in " + lower + " of " + runs.size() + " seeds, which do not agree";
    }

    private String chance() {
        int seeds = result.settings().seeds();
        int comparisons = BudgetTeacher.values().length
                * (int) Stream.of(BudgetVariant.values())
                        .filter(BudgetVariant::shares)
                        .count();
        return "- Were a comparison a toss, "
                + (seeds == 1
                        ? "the one seed would always agree"
                        : "all " + seeds + " seeds would agree in one of " + (1L << (seeds - 1)))
                + "; there are " + comparisons + " comparisons.";
    }

    private String every() {
        return result.settings().seeds() == 1 ? "the one seed" : "every seed";
    }

    private static String range(double low, double high) {
        String from = BudgetTables.rounded(low);
        String to = BudgetTables.rounded(high);
        return from.equals(to) ? from : from + " to " + to;
    }

    private String sharedOff() {
        return "- With the shared branch switched off the loss is " + times(BudgetTeacher.COMMON, this::withoutShared)
                + " times as high with teacher `common`, and " + times(BudgetTeacher.GROUPS, this::withoutShared)
                + " times with teacher `groups`, which has nothing common to learn: "
                + (allRise(BudgetTeacher.GROUPS)
                        ? "that it costs something to lose a shared branch does not show that the branch holds what is common."
                        : "not every student there loses by it.");
    }

    private double withoutShared(Run run) {
        return run.interventions().sharedOff().orElseThrow() / run.end().loss();
    }

    private double withRoutedInstead(Run run) {
        return run.interventions().routedInstead().orElseThrow() / run.end().loss();
    }

    private boolean allRise(BudgetTeacher teacher) {
        return sharing(teacher).allMatch(run -> withoutShared(run) > 1);
    }

    private Stream<Run> sharing(BudgetTeacher teacher) {
        return result.runs().stream()
                .filter(run -> run.teacher() == teacher && run.variant().shares());
    }

    private String times(BudgetTeacher teacher, ToDoubleFunction<Run> reading) {
        DoubleSummaryStatistics all = sharing(teacher).mapToDouble(reading).summaryStatistics();
        return range(all.getMin(), all.getMax());
    }

    private String routedInstead() {
        List<Run> all = Stream.of(BudgetTeacher.values()).flatMap(this::sharing).toList();
        long worse = all.stream().filter(run -> withRoutedInstead(run) > 1).count();
        long worseThanOff = all.stream()
                .filter(run -> withRoutedInstead(run) > withoutShared(run))
                .count();
        return "- One routed expert more in place of the trained shared one makes the loss "
                + times(BudgetTeacher.COMMON, this::withRoutedInstead) + " and "
                + times(BudgetTeacher.GROUPS, this::withRoutedInstead) + " times as high: higher than as trained in "
                + worse + " of " + all.size() + " students, and higher than with nothing in its place in "
                + worseThanOff
                + ". Nobody trained them for that.";
    }

    private String specialization() {
        String ends = Stream.of(BudgetVariant.values())
                .map(variant -> "`" + variant.text() + "` from " + variation(variant, Run::start) + " to "
                        + variation(variant, Run::end))
                .collect(Collectors.joining(", "));
        double chance = result.runs().stream()
                .mapToDouble(run -> run.end().withinGroups())
                .max()
                .orElseThrow();
        return "- Total variation between groups, mean over teachers and seeds: " + ends
                + "; chance alone makes at most " + BudgetTables.rounded(chance)
                + ". `fewer` has another K and begins higher: of different K only the change compares.";
    }

    private String variation(BudgetVariant variant, Function<Run, Point> point) {
        return BudgetTables.rounded(result.runs().stream()
                .filter(run -> run.variant() == variant)
                .mapToDouble(run -> point.apply(run).betweenGroups())
                .average()
                .orElseThrow());
    }

    private String rows() {
        String emptiest = Stream.of(BudgetVariant.values())
                .map(variant -> "`" + variant.text() + "` "
                        + String.format(
                                Locale.ROOT,
                                "%.2f",
                                result.runs().stream()
                                        .filter(run -> run.variant() == variant)
                                        .mapToDouble(BudgetFindings::emptiest)
                                        .min()
                                        .orElseThrow()))
                .collect(Collectors.joining(", "));
        return "- The emptiest routed expert of any student has this part of the mean rows: " + emptiest
                + ". A shared expert has the rows of all tokens.";
    }

    private static double emptiest(Run run) {
        return run.rows().least()
                * (double) run.rows().perExpert().size()
                / run.rows().routed();
    }
}
