package org.moe4j.bench.study.collapse;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;

/** What the page of the collapse study says in words. */
final class CollapseWords {
    private CollapseWords() {}

    static String setup(CollapseResult result) {
        CollapseSettings settings = result.settings();
        List<String> lines = new ArrayList<>();
        for (FunctionSize size : settings.sizes()) {
            lines.add("- Size `" + size.name() + "`: SwiGLU experts, D " + size.hiddenSize() + ", F " + size.width()
                    + " in all, " + size.tokens()
                    + " standard normal tokens. Weights normal, those into the experts and"
                    + " the gate rows with deviation 1/√D, those out of them with 1/√F.");
        }
        lines.add(
                "- One set of weights is split into parts (`SharedExpertCollapse.split`), each an expert of its own, and"
                        + " concatenated again. For three experts of the figure's size the widths are the figure's; the other"
                        + " widths are chosen, and uneven.");
        lines.add("- Coefficients: `unit`, the plain sum; `fixed`, the constants "
                + FunctionRun.CONSTANTS.stream().map(String::valueOf).collect(Collectors.joining(", "))
                + ", which the wide expert has in its down projection; `common gate`, σ(x·g) with n equal rows g in the"
                + " parts and one in the wide form (`GatedMerge`); `distinct gates`, σ(x·g_j) with rows of their own,"
                + " beside a wide expert with the mean of each gate over the tokens in its down projection.");
        lines.add(
                "- `bound`: an output is a product of inner length F and n additions; two computations of it in another"
                        + " order differ by at most 2·(2·√F + n + 4)·u·Σ|terms|, and by what the gate's own product may be off."
                        + " Single precision: u = 2⁻²⁴; double: u = 2⁻⁵³.");
        lines.add("- Training, on " + result.trainedOn() + ": an MoE layer, D " + TrainingLayers.HIDDEN + ", E "
                + TrainingLayers.EXPERTS + ", K " + TrainingLayers.TOP_K + ", F " + TrainingLayers.ROUTED_WIDTH
                + ", shared experts of width " + TrainingLayers.widths()
                + ", all of it learning; the wide form is the same"
                + " layer with one shared expert of width " + TrainingLayers.width()
                + ". Both learn a teacher's outputs plus noise (deviation " + TrainingRun.NOISE + ") from the same "
                + settings.steps() + " batches of " + TrainingRun.BATCH + " tokens; outputs are compared on "
                + settings.heldOut() + " others.");
        lines.add("- SGD: momentum 0.9, rate " + Learner.SGD.rate() + ", decay " + Learner.SGD.decay()
                + ". AdamW: β 0.9 and 0.99, rate " + Learner.ADAMW.rate() + ", decay " + Learner.ADAMW.decay()
                + ". Muon: momentum 0.95, Nesterov, rate " + Learner.MUON.rate() + ", decay " + Learner.MUON.decay()
                + ", scaled by 0.2·√max(rows, columns), on every matrix. All decays are decoupled. Clipping: global norm "
                + TrainingRun.CLIPPED_AT + ".");
        lines.add("- Joined later: the parts learn alone for " + settings.steps() / 2
                + " steps; then their weights and what their optimizers kept are concatenated, and both forms go on.");
        lines.add("- Routed: that layer's routed experts split into "
                + RoutedRun.PARTS.stream().map(String::valueOf).collect(Collectors.joining(" and "))
                + " parts each (`RoutedExpertSplit`), as many times K of them per token. The rows of the router are inherited by"
                + " the parts (`InheritedRows`), or random ones of their own.");
        return String.join("\n", lines);
    }

    static String findings(CollapseResult result) {
        return String.join(
                "\n",
                "- Function. Single precision, three experts, the first two tokens: the largest difference is "
                        + Claim.text(ofFigure(result)) + "; the report's figure prints "
                        + Claim.text(CollapseResult.PUBLISHED_DIFFERENCE)
                        + " for its two, computed in a browser. A single part, with coefficient 1 or one gate, is the wide"
                        + " expert itself and shows no difference at all; for all others the order of a sum is another.",
                "- Cost. " + costs(result),
                "- Where it ends. Gates that differ by expert cannot go into fixed weights: with their means there, the outputs"
                        + " are off by " + gates(result)
                        + " of the largest output, and the best down projection that least"
                        + " squares find for these tokens leaves " + residuals(result)
                        + " of the output's norm. (Another MLP, with other gate and up projections, may come nearer.) One"
                        + " gate common to all stays outside, in both forms.",
                "- The routed side. Parts that inherit their expert's row are selected together, and a factor on their down"
                        + " projections makes up for their share of the weight: the same function to rounding. With rows of"
                        + " their own, tokens mix parts of several experts: the outputs are off by " + ownRows(result)
                        + " of the largest output.",
                "- Training alike. The gradients of the parts are slices of the wide expert's: from the same tokens and the same"
                        + " gradient of the output they differ by " + gradients(result)
                        + " of the largest gradient; 0 means the very same bits. So whatever acts element by element keeps"
                        + " the forms together to rounding: momentum, both moments of Adam, decoupled decay, and clipping by the norm of all"
                        + " gradients. Forms joined later stay together too, as long as the optimizer's state is"
                        + " concatenated with the weights.",
                trainingApart(result),
                "- That the two forms end at different losses under Muon says nothing of which is better: it is one start, one"
                        + " teacher and one rate.",
                "");
    }

    private static String trainingApart(CollapseResult result) {
        return "- Training apart, after " + result.settings().steps()
                + " steps, as a share of the largest output. Muon: "
                + last(result, TrainingCase.MUON)
                + "; it makes the singular values of a whole matrix alike, which makes"
                + " another step of it than of its slices. AdamW that goes on with empty moments: "
                + last(result, TrainingCase.ADAMW_STATE_LOST) + ". A gate row for each part beside one row: "
                + last(result, TrainingCase.SGD_GATES)
                + "; even when all rows start equal, each gets the gradient of its"
                + " own part only. n down biases beside their sum: " + last(result, TrainingCase.ADAMW_BIASES)
                + "; each gets the gradient of the sum, which so moves n times as far. With 1/n of the rate and n times the"
                + " decay for these biases, both forms train alike again.";
    }

    private static double ofFigure(CollapseResult result) {
        return result.functions().stream()
                .filter(row -> row.single() && row.coefficients() == SharedCoefficients.UNIT && row.experts() == 3)
                .mapToDouble(FunctionRow::differenceOfTwo)
                .max()
                .orElse(Double.NaN);
    }

    private static String costs(CollapseResult result) {
        return result.settings().sizes().stream()
                        .map(size -> {
                            FunctionRow row = result.functions().stream()
                                    .filter(one -> one.size().equals(size.name()))
                                    .findFirst()
                                    .orElseThrow();
                            return String.format(
                                    Locale.ROOT,
                                    "Size `%s`: %,d parameters and %,d operations per token in every form",
                                    size.name(),
                                    row.wide().parameters(),
                                    row.wide().flopsPerToken());
                        })
                        .collect(Collectors.joining(". "))
                + "; only the number of modules differs.";
    }

    /** As "0 (one backend), 1e-16 (another)". */
    private static String gradients(CollapseResult result) {
        return result.comparisons().stream()
                .filter(row -> row.part().equals("gradient"))
                .map(row -> Claim.text(row.relative()) + " (" + row.backend() + ")")
                .collect(Collectors.joining(", "));
    }

    private static String ownRows(CollapseResult result) {
        return range(result.comparisons().stream().filter(row -> !row.same()).mapToDouble(Comparison::relative));
    }

    private static String gates(CollapseResult result) {
        return range(result.functions().stream()
                .filter(row -> !row.coefficients().collapse())
                .mapToDouble(FunctionRow::relative));
    }

    private static String residuals(CollapseResult result) {
        return range(result.functions().stream().flatMapToDouble(row -> row.residual().stream()));
    }

    private static String range(DoubleStream values) {
        double[] all = values.sorted().toArray();
        return String.format(Locale.ROOT, "%.2f to %.2f", all[0], all[all.length - 1]);
    }

    private static String last(CollapseResult result, TrainingCase training) {
        return result.trajectories().stream()
                .filter(trajectory -> trajectory.training() == training)
                .map(trajectory -> String.format(Locale.ROOT, "%.3f", trajectory.end()))
                .findFirst()
                .orElseThrow();
    }
}
