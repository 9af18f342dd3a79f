package org.moe4j.bench.study.reparameterization;

import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.moe4j.bench.study.StudyPage;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Line;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Point;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Run;
import org.moe4j.bench.support.Decimal;
import org.moe4j.bench.support.Table;

/** The reparameterization study as tables and as a page: question, setup, table, picture, what it shows. */
public final class ReparameterizationPage {
    private ReparameterizationPage() {}

    /**
     * All measurements with all digits.
     *
     * @param result of the study
     * @return one line per optimizer, treatment, convention and measured step
     */
    public static Table csv(ReparameterizationResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (Run run : result.runs()) {
            for (Line line : run.lines()) {
                for (Point point : line.points()) {
                    rows.add(List.of(
                            run.descent().text(),
                            line.treatment().text(),
                            line.convention(),
                            Decimal.of(line.routed()),
                            Decimal.of(line.shared()),
                            Integer.toString(point.step()),
                            Decimal.of(point.function()),
                            Decimal.of(point.parameters())));
                }
            }
        }
        return new Table(
                List.of(
                        "optimizer",
                        "treatment",
                        "convention",
                        "routed_factor",
                        "shared_factor",
                        "step",
                        "function_deviation",
                        "parameter_deviation"),
                3,
                rows);
    }

    /**
     * The largest deviation over all steps of every rewritten layer, for reading.
     *
     * @param result of the study
     * @return the function's for every convention, and the largest of the parameters
     */
    public static Table table(ReparameterizationResult result) {
        List<List<String>> rows = new ArrayList<>();
        for (Run run : result.runs()) {
            for (Treatment treatment : run.descent().treatments()) {
                List<Line> lines = run.lines(treatment);
                List<String> row = new ArrayList<>(
                        List.of(run.descent().phrase(), treatment.phrase(), treatment.follows() ? "follows" : "parts"));
                lines.forEach(line -> row.add(rounded(line.most(Point::function))));
                row.add(rounded(most(lines.stream(), Point::parameters).getMax()));
                rows.add(row);
            }
        }
        List<String> head = new ArrayList<>(List.of("optimizer", "rewritten layer", "should"));
        head.addAll(conventions(result));
        head.add("parameters");
        return new Table(head, 3, rows);
    }

    private static List<String> conventions(ReparameterizationResult result) {
        return result.runs().get(0).lines(Treatment.MAPPED).stream()
                .map(Line::convention)
                .toList();
    }

    private static DoubleSummaryStatistics most(Stream<Line> lines, ToDoubleFunction<Point> reading) {
        return lines.mapToDouble(line -> line.most(reading)).summaryStatistics();
    }

    private static String rounded(double value) {
        return value == 0 ? "0" : String.format(Locale.ROOT, "%.1e", value);
    }

    /**
     * Whether all follows that should, and nothing else, in one line.
     *
     * @param result of the study
     * @return a sentence
     */
    public static String verdict(ReparameterizationResult result) {
        return result.shortfall()
                .map(worst -> "The factors fell short: " + worst + ".")
                .orElseGet(() -> String.format(
                        Locale.ROOT,
                        "Every layer that should follow stays within %.0e of the original at every measured step, to the"
                                + " bit where the factors are powers of two; every other one goes beyond %.0e.",
                        ReparameterizationResult.FOLLOWS,
                        ReparameterizationResult.PARTS));
    }

    /**
     * The page.
     *
     * @param result of the study
     * @param picture file name of the picture beside the page
     * @return Markdown; the same for the same numbers
     */
    public static String markdown(ReparameterizationResult result, String picture) {
        return new StudyPage(
                        "Merge factors moved into the weights, in training",
                        "After a merge factor has been absorbed into the down projections (W' = c·W, the same function), which"
                                + " training settings follow the old trajectory? The report counts what is"
                                + " not the same afterwards: the scale of initial parameters, learning rates, decay, clipping"
                                + " and the state of the optimizer (Section 21.4).",
                        ReparameterizationSetup.text(result),
                        table(result).markdown(),
                        verdict(result),
                        "![Lines by training step on a logarithmic axis: deviation from the original's outputs]("
                                + picture + ")",
                        findings(result))
                .markdown();
    }

    private static String findings(ReparameterizationResult result) {
        return String.join(
                "\n",
                "- With all settings mapped the rewritten layer is the original's function all along, to "
                        + largest(result, Treatment.MAPPED)
                        + " of its largest output. What is left is rounding: c·W, c²,"
                        + " ε/c and what is computed with them are rounded, where c is 4.5 or 9; times 1, 2, 4 and 8"
                        + " nothing is rounded, and not one bit differs. In "
                        + result.settings().steps()
                        + " steps these roundings hardly grow.",
                "- With nothing mapped it starts as the same function and is another after training, by "
                        + range(result, Treatment.UNCHANGED) + " of the largest output: the change of merge convention"
                        + " was a change of learning rate for the down projections alone (Section 21.3).",
                "- Each setting counts. Decay left as it was: " + range(result, Treatment.WITHOUT_DECAY)
                        + ". ε left as it was: " + range(result, Treatment.WITHOUT_EPSILON)
                        + "; so little because ε is small beside the gradients here, and still far above rounding.",
                "- Clipping by the global norm undoes correct settings: " + range(result, Treatment.CLIPPED)
                        + ". The norm adds up gradients of all families, of which the down projections' were divided by c,"
                        + " so that another factor multiplies them all. No setting makes up for it, as the ratio"
                        + " of both norms changes from step to step. With the norm of the gradients mapped back,"
                        + " √Σ (c·‖dW'‖)², the layer follows: " + largest(result, Treatment.CLIPPED_BACK) + ".",
                "- In mid-training the state is a part of the settings. Momentum divided by c, and Adam's second moments by"
                        + " c²: " + largest(result, Treatment.HALFWAY) + ". Left as they were: "
                        + range(result, Treatment.HALFWAY_STATE_KEPT) + ".",
                "- The router saw the same logits up to rounding and chose the same experts: in training the logits of a"
                        + " selected and an unselected expert of a token came as close as "
                        + rounded(closest(result)) + ", far above rounding. A closer call could be"
                        + " decided otherwise, after which two trajectories part by more than rounding.",
                "- This is one small layer, in double. That the factors are those of every layer, and of every c, is for the"
                        + " [derivations](../derivations.md#8-constants-moved-into-weights-in-training) to say. In a narrower"
                        + " type a factor that is no power of two costs a rounding of that type.",
                "");
    }

    private static double closest(ReparameterizationResult result) {
        return result.runs().stream().mapToDouble(Run::closest).min().orElseThrow();
    }

    private static String largest(ReparameterizationResult result, Treatment treatment) {
        return "at most "
                + rounded(most(result.lines(treatment), Point::function).getMax());
    }

    private static String range(ReparameterizationResult result, Treatment treatment) {
        DoubleSummaryStatistics all = most(result.lines(treatment), Point::function);
        return DoubleStream.of(all.getMin(), all.getMax())
                .mapToObj(ReparameterizationPage::rounded)
                .collect(Collectors.joining(" to "));
    }
}
