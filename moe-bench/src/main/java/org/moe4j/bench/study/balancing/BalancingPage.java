package org.moe4j.bench.study.balancing;

import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import org.moe4j.bench.study.StudyPage;
import org.moe4j.bench.study.balancing.BalancingResult.Point;
import org.moe4j.bench.study.balancing.BalancingResult.Reading;
import org.moe4j.bench.study.balancing.BalancingResult.Run;
import org.moe4j.bench.support.Decimal;
import org.moe4j.bench.support.Table;

/** The balancing study as tables and as a page: question, setup, table, picture, what it shows. */
public final class BalancingPage {
    private BalancingPage() {}

    /**
     * All measurements with all digits.
     *
     * @param result of the study
     * @return one line per method, seed and measured step
     */
    public static Table csv(BalancingResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (Run run : result.runs()) {
            for (Point point : run.points()) {
                rows.add(List.of(
                        run.method().text(),
                        Integer.toString(run.seed()),
                        Integer.toString(point.step()),
                        Decimal.of(point.maxOverMean()),
                        Decimal.of(point.variation()),
                        Decimal.of(point.loss()),
                        Decimal.of(run.teacherLoss())));
            }
        }
        return new Table(
                List.of("method", "seed", "step", "max_over_mean", "variation", "loss", "teacher_loss"), 1, rows);
    }

    /** A row of the table: what a method left of what was there before training. */
    record Row(BalancingMethod method, String quantity, DoubleSummaryStatistics start, DoubleSummaryStatistics end) {}

    static List<Row> rows(BalancingResult result) {
        List<Row> rows = new ArrayList<>();
        for (BalancingMethod method : BalancingMethod.values()) {
            rows.add(row(result, method, "max_over_mean", (run, point) -> point.maxOverMean()));
            rows.add(row(result, method, "variation", (run, point) -> point.variation()));
            rows.add(row(result, method, "loss_over_teacher", Run::lossOverTeacher));
        }
        return rows;
    }

    private static Row row(BalancingResult result, BalancingMethod method, String quantity, Reading reading) {
        int last = result.runs(method).get(0).points().size() - 1;
        return new Row(method, quantity, result.over(method, 0, reading), result.over(method, last, reading));
    }

    /**
     * Start and end of every method side by side, for reading.
     *
     * @param result of the study
     * @return rounded to three places
     */
    public static Table table(BalancingResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (Row row : rows(result)) {
            rows.add(List.of(
                    row.method().text(),
                    row.quantity(),
                    rounded(row.start().getAverage()),
                    range(row.start()),
                    rounded(row.end().getAverage()),
                    range(row.end())));
        }
        return new Table(List.of("method", "quantity", "start", "[min, max]", "end", "[min, max]"), 2, rows);
    }

    private static String range(DoubleSummaryStatistics seeds) {
        return "[" + rounded(seeds.getMin()) + ", " + rounded(seeds.getMax()) + "]";
    }

    private static String rounded(double value) {
        return String.format(Locale.ROOT, "%.3f", value);
    }

    /**
     * Whether balancing did what it is for, in one line.
     *
     * @param result of the study
     * @return a sentence
     */
    public static String verdict(BalancingResult result) {
        return result.shortfall()
                .map(worst -> "Balancing fell short: " + worst + ".")
                .orElseGet(() -> String.format(
                        Locale.ROOT,
                        "With the loss and with the bias, every seed's imbalance is at most %.0f %% of the start's by"
                                + " both measures, and its loss within %.0f %% of its teacher's.",
                        100 * BalancingResult.LEFT_IMBALANCE,
                        100 * (BalancingResult.REACHED - 1)));
    }

    /**
     * The page.
     *
     * @param result of the study
     * @param picture file name of the picture beside the page
     * @return Markdown; the same for the same numbers
     */
    public static String markdown(BalancingResult result, String picture) {
        return new StudyPage(
                        "Balancing while a layer learns",
                        "Does a Mixture-of-Experts layer learn a teacher's mixture when its router starts by sending most"
                                + " tokens to two of its experts, and what does balancing cost?",
                        setup(result),
                        table(result).markdown(),
                        verdict(result),
                        "![Lines by training step: tokens of the fullest expert over the mean, loss over the teacher's]("
                                + picture + ")",
                        findings(result))
                .markdown();
    }

    private static String setup(BalancingResult result) {
        BalancingSettings settings = result.settings();
        return String.join(
                "\n",
                "- Layers: D " + BalancingLayers.HIDDEN + ", E " + BalancingLayers.EXPERTS + ", K "
                        + BalancingLayers.TOP_K
                        + ", one shared expert, sum of both branches; softmax over the logits of"
                        + " the selected experts, a bias on the logits. " + result.backend() + ".",
                "- Teacher: F " + BalancingLayers.TEACHER_WIDTH + "; orthogonal router rows of length "
                        + plain(BalancingLayers.LOGIT_DEVIATION)
                        + " and no bias, so that on standard normal tokens every"
                        + " expert is equally likely. Targets are its outputs plus normal noise of standard deviation "
                        + plain(BalancingLayers.NOISE)
                        + ", which nobody can learn: the teacher's own loss is its square.",
                "- Student: F " + BalancingLayers.STUDENT_WIDTH + ", random experts. Its router rows are "
                        + plain(BalancingLayers.LIKENESS)
                        + " of the teacher's and the rest of random ones, made orthogonal"
                        + " and as long again; a bias of " + plain(BalancingLayers.FAVOUR)
                        + " on the logits of the first "
                        + BalancingLayers.FAVOURED + " experts makes it uneven. Its shared expert is the teacher's, and"
                        + " frozen. (With unrelated rows some students, however balanced, end in another mixture than the"
                        + " teacher's.)",
                "- Training: " + settings.steps() + " steps of " + BalancingRun.MICRO_BATCHES + " × "
                        + BalancingRun.MICRO_BATCH
                        + " fresh tokens on the mean squared error, gradients added up over the"
                        + " micro-batches; Adam (β " + plain(Student.ADAM.mean()) + ", "
                        + plain(Student.ADAM.square())
                        + "), rate " + plain(Student.RATE) + ". All rates fall along half a cosine in the second half.",
                "- `none`: no balancing. `loss`: `LoadBalancingLoss.olmoCore` of each micro-batch, coefficient "
                        + plain(Student.LOSS_COEFFICIENT) + ". `bias`: the sign rule on a selection bias, rate "
                        + plain(Student.BIAS_RATE) + ", counts of the whole step. Same start, same tokens.",
                "- Measured on " + settings.heldOut()
                        + " tokens that no student learns from: `max_over_mean`, tokens of the"
                        + " fullest expert over the mean (1 is even, E/K = "
                        + plain(BalancingLayers.EXPERTS / (double) BalancingLayers.TOP_K)
                        + " the most); `variation`, standard deviation of the experts' tokens over the mean;"
                        + " `loss_over_teacher`. Means over " + seeds(settings) + ".");
    }

    private static String seeds(BalancingSettings settings) {
        return settings.seeds() == 1
                ? "one seed"
                : settings.seeds() + " seeds; the brackets hold the smallest and the largest";
    }

    /** Without a superfluous point, as 6 and 0.02. */
    private static String plain(double value) {
        return value == Math.rint(value) ? Long.toString((long) value) : Decimal.of(value);
    }

    private static String findings(BalancingResult result) {
        return String.join(
                "\n",
                "- All students learn from the same tokens. Over the whole training the fullest expert has "
                        + overTraining(result, BalancingMethod.NONE) + " times the mean without balancing, "
                        + overTraining(result, BalancingMethod.LOSS) + " with the loss and "
                        + overTraining(result, BalancingMethod.BIAS) + " with the bias; at the end "
                        + end(result, BalancingMethod.NONE, 0) + ", " + end(result, BalancingMethod.LOSS, 0) + " and "
                        + end(result, BalancingMethod.BIAS, 0) + ".",
                "- The loss ends at " + end(result, BalancingMethod.NONE, 2)
                        + " times the teacher's without balancing, at "
                        + end(result, BalancingMethod.LOSS, 2) + " with the loss and at "
                        + end(result, BalancingMethod.BIAS, 2)
                        + " with the bias. An expert without tokens has no gradient"
                        + " and learns nothing; this teacher's mixture being even, the router of a student without"
                        + " balancing evens its load as far as it learns the mixture, and no further.",
                "- Steps until the loss is within " + Math.round(100 * (BalancingResult.REACHED - 1))
                        + " % of the teacher's: " + reached(result, BalancingMethod.NONE) + " without balancing, "
                        + reached(result, BalancingMethod.LOSS) + " with the loss, "
                        + reached(result, BalancingMethod.BIAS) + " with the bias.",
                "- What the balanced students lack of their teacher's loss is at most what balancing costs here. Since the"
                        + " teacher is balanced, an even load is no constraint on what can be learned; of data whose best"
                        + " mixture is uneven this says nothing.",
                "");
    }

    private static String end(BalancingResult result, BalancingMethod method, int quantity) {
        return rounded(rows(result).stream()
                .filter(row -> row.method() == method)
                .toList()
                .get(quantity)
                .end()
                .getAverage());
    }

    /** Mean over seeds and measurements of the load of the fullest expert. */
    private static String overTraining(BalancingResult result, BalancingMethod method) {
        return rounded(result.runs(method).stream()
                .flatMap(run -> run.points().stream())
                .mapToDouble(Point::maxOverMean)
                .average()
                .orElseThrow());
    }

    /** As "650 to 800", or "never" when some seed does not get there. */
    private static String reached(BalancingResult result, BalancingMethod method) {
        List<OptionalInt> steps =
                result.runs(method).stream().map(Run::reachedAt).toList();
        if (steps.stream().allMatch(OptionalInt::isEmpty)) {
            return "never";
        }
        int[] found = steps.stream().flatMapToInt(OptionalInt::stream).sorted().toArray();
        String range = found[0] + (found[0] == found[found.length - 1] ? "" : " to " + found[found.length - 1]);
        return found.length == steps.size() ? range : range + " in " + found.length + " of " + steps.size() + " seeds";
    }
}
