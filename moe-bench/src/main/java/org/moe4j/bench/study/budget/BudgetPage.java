package org.moe4j.bench.study.budget;

import static org.moe4j.bench.study.budget.BudgetTables.whole;

import java.util.List;
import java.util.stream.Collectors;
import org.moe4j.bench.study.StudyPage;
import org.moe4j.bench.support.Table;

/** The shared-budget study as tables and as a page: question, setup, tables, picture, what it shows. */
public final class BudgetPage {
    private BudgetPage() {}

    /**
     * All measurements with all digits.
     *
     * @param result of the study
     * @return one line per number
     */
    public static Table csv(BudgetResult result) {
        return BudgetTables.csv(result);
    }

    /**
     * The budget of each variant, for reading.
     *
     * @param result of the study
     * @return numbers stored, and operations of one token, by path
     */
    public static Table table(BudgetResult result) {
        return BudgetTables.of(result).get(0).table();
    }

    /**
     * What stands below the budget on the terminal: the other tables, the verdict, and times, which are on no page.
     *
     * @param result of the study
     * @param times measured after it
     * @return lines
     */
    public static String below(BudgetResult result, PathTimes times) {
        List<BudgetTables.Titled> tables = BudgetTables.of(result);
        return tables.subList(1, tables.size()).stream()
                        .map(titled -> titled.title() + ":\n" + titled.table().aligned() + "\n")
                        .collect(Collectors.joining())
                + "Time of a forward run by path, over the whole of none: indicative, " + PathTimes.TOKENS + " tokens, "
                + PathTimes.FACTOR + " times the widths of the study:\n"
                + times.table().aligned()
                + "\n" + verdict(result);
    }

    /**
     * Whether the arithmetic holds, in one line.
     *
     * @param result of the study
     * @return a sentence
     */
    public static String verdict(BudgetResult result) {
        return result.shortfall()
                .map(line -> "The arithmetic does not hold: " + line + ".")
                .orElse(
                        "Every student stores and computes what was planned, its experts accept T·K rows and the shared one"
                                + " T, and the RMS before training is the predicted one within "
                                + whole(StartScale.ERRORS) + " standard errors.");
    }

    /**
     * The page.
     *
     * @param result of the study
     * @param picture file name of the picture beside the page
     * @return Markdown; the same for the same numbers
     */
    public static String markdown(BudgetResult result, String picture) {
        return new StudyPage(
                        "A shared expert within a budget",
                        "At equal tokens and an equal training objective, what does a shared expert change: on top of the"
                                + " routed experts, or taken out of their budget?",
                        setup(result),
                        BudgetTables.of(result).stream()
                                .map(titled -> titled.title() + ":\n\n"
                                        + titled.table().markdown())
                                .collect(Collectors.joining("\n")),
                        verdict(result),
                        "![Lines by training step: loss with either teacher, total variation between groups](" + picture
                                + ")",
                        BudgetFindings.of(result))
                .markdown();
    }

    private static String setup(BudgetResult result) {
        return String.join("\n", variants(), teachers(), training(result), scale(result), measures(result), paths());
    }

    private static String variants() {
        return String.join(
                "\n",
                "- `none`: E " + BudgetLayers.EXPERTS + " experts, K " + BudgetLayers.TOP_K + " of them for a token, F "
                        + BudgetLayers.WIDTH + ", D " + BudgetLayers.HIDDEN
                        + ". `additive`: the same and a shared expert"
                        + " of width d_s " + BudgetLayers.WIDTH
                        + " on top. Out of the routed budget: `fewer`, one routed"
                        + " expert less in E and in K, as in DeepSeekMoE (Dai et al. 2024, Section 3.2); `narrower`, E and"
                        + " K as they were, each routed expert narrower by d_s/K.",
                "- All experts are SwiGLU without biases, routed by softmax over the logits of the selected experts p, and"
                        + " merged by r = K·p, s = 1 (`olmo`). Dropless. All projections of all experts start with the same"
                        + " variances.");
    }

    private static String teachers() {
        return "- Teachers: the group of a token is the largest of its first " + BudgetLayers.GROUPS + " of "
                + BudgetLayers.HIDDEN + " standard normal numbers; a SwiGLU block of width "
                + BudgetLayers.TEACHER_WIDTH
                + " for each group and one for all tokens. `common`: either has half of the"
                + " target's variance, on average over teachers. `groups`: the block for all is zero. Targets have normal"
                + " noise of standard deviation " + whole(BudgetLayers.NOISE)
                + ", which nobody can learn: the teacher's own loss is its square.";
    }

    private static String training(BudgetResult result) {
        BudgetSettings settings = result.settings();
        return "- Training: " + settings.steps() + " steps of " + BudgetRun.BATCH
                + " fresh tokens, the same for all variants, on the mean squared error plus"
                + " `LoadBalancingLoss.olmoCore` with coefficient " + whole(BudgetLayers.LOSS_COEFFICIENT)
                + "; AdamW (β " + whole(BudgetStudent.ADAMW.mean()) + ", " + whole(BudgetStudent.ADAMW.square())
                + ", decay " + whole(BudgetStudent.ADAMW.decay()) + "), rate " + whole(BudgetStudent.RATE)
                + ", which falls along half a cosine in the second half. "
                + (settings.seeds() == 1 ? "One seed" : settings.seeds() + " seeds") + " of teacher, start and tokens. "
                + result.backend() + ".";
    }

    private static String scale(BudgetResult result) {
        return "- RMS before training: over " + result.settings().starts()
                + " fresh starts, on tokens of RMS 1, beside the same experts with coefficients of 1. Predicted: `MergeScale`"
                + " of the measured Σp². Band: " + whole(StartScale.ERRORS)
                + " standard errors of the ratio over the starts.";
    }

    private static String measures(BudgetResult result) {
        return "- Measured on " + result.settings().heldOut()
                + " held-out tokens. TV: ½ Σ_e |p_e − q_e| of the parts of two"
                + " groups' assignments that go to expert e, mean over pairs of groups; by chance: the same of every other"
                + " token of a group and its rest. One change, nothing trained again: shared off, s = 0; routed off, r = 0;"
                + " one routed more for the shared, s = 0 and a router that chooses K + 1 experts, r = (K + 1)·p.";
    }

    private static String paths() {
        return "- Operations are those of the products, a multiply-add being two; a routed expert's are counted by the rows"
                + " it accepted. Times of the paths are no part of this page, since they are never the same again: the"
                + " command prints them, as ratios.";
    }
}
