package org.moe4j.bench.study.budget;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.study.budget.Budget.Paths;
import org.moe4j.bench.study.budget.BudgetResult.Run;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;

final class BudgetPageTest {
    private static final BudgetResult RESULT = SmallBudget.ending(0.375, 0.25);

    @Test
    void csvHasAllNumbersWithAllDigits() {
        List<String> lines = BudgetPage.csv(RESULT).csv().lines().toList();
        assertThat(lines.get(0)).isEqualTo("teacher,variant,seed,step,quantity,value");
        assertThat(lines)
                .contains(
                        "-,none,1,0,start_rms_predicted,1.1",
                        "common,additive,2,60,loss,0.25",
                        "groups,fewer,1,0,tv_between_groups,0.25",
                        "groups,fewer,1,60,tv_within_groups,0.03125",
                        "common,none,1,60,teacher_loss,0.25",
                        "common,narrower,1,60,loss_shared_off,1.5",
                        "common,narrower,1,60,loss_routed_instead,2.25",
                        "common,none,2,60,loss_routed_off,1.0",
                        "common,none,2,60,rows_7,90.0",
                        "common,fewer,2,60,rows_shared,240.0",
                        "common,fewer,2,60,stored_routed,1512.0",
                        "common,fewer,2,60,active_shared,432.0")
                .doesNotHaveDuplicates();
        assertThat(lines.toString()).doesNotContain("time");
    }

    @Test
    void theBudgetTableHasALineForEveryVariant() {
        List<String> lines = BudgetPage.table(RESULT).aligned().lines().toList();
        assertThat(lines).hasSize(2 + 4);
        assertThat(lines.get(4).split(" {2,}"))
                .containsExactly("fewer", "7", "2", "9", "9", "56", "1512", "216", "1728", "112", "864", "432", "1296");
    }

    @Test
    void belowTheBudgetStandTheOtherTablesAndTheTimes() {
        PathTimes times = new PathTimes(List.of(new PathTimes.Times(BudgetVariant.NONE, 0.25, 0.25, 0.5, 0)));
        assertThat(BudgetPage.below(RESULT, times))
                .containsSubsequence(
                        "RMS before training",
                        "1.100     1.120  ±0.040",
                        "Loss over the teacher's",
                        "common   additive     2  16.000  1.000       2.000       4.000",
                        "Specialization, and rows",
                        "0.25      0.25    0.50    0.00   1.00",
                        "Every student stores");
    }

    @Test
    void everythingThatFollowsFromArithmeticIsChecked() {
        assertThat(RESULT.shortfall()).isEmpty();
        Run run = RESULT.runs(BudgetTeacher.GROUPS, BudgetVariant.FEWER).get(1);
        Paths stored = run.budget().stored();
        Paths active = run.budget().active();
        assertThat(shortfall(run, new Budget(new Paths(56, stored.routed() + 1, 216), active), run.rows()))
                .isEqualTo("stored in routed experts (groups, fewer, seed 2): expected 1512.0 but was 1513.0");
        assertThat(shortfall(run, new Budget(stored, new Paths(112, active.routed(), 431)), run.rows()))
                .isEqualTo("active in shared experts (groups, fewer, seed 2): expected 432.0 but was 431.0");
        assertThat(shortfall(run, new Budget(new Paths(64, 1512, 216), active), run.rows()))
                .isEqualTo("stored in router (groups, fewer, seed 2): expected 56.0 but was 64.0");
        List<Integer> lost = new ArrayList<>(run.rows().perExpert());
        lost.set(3, lost.get(3) - 1);
        assertThat(shortfall(run, run.budget(), new Rows(240, lost, 240)))
                .isEqualTo("routed rows (groups, fewer, seed 2): expected 480.0 but was 479.0");
        assertThat(shortfall(run, run.budget(), new Rows(240, run.rows().perExpert(), 239)))
                .isEqualTo("shared rows (groups, fewer, seed 2): expected 240.0 but was 239.0");
    }

    private static String shortfall(Run run, Budget budget, Rows rows) {
        Run changed = new Run(
                run.teacher(),
                run.variant(),
                run.seed(),
                run.teacherLoss(),
                run.points(),
                rows,
                budget,
                run.interventions());
        BudgetResult result = SmallBudget.with(RESULT, changed);
        String line = result.shortfall().orElseThrow();
        assertThat(BudgetPage.verdict(result)).isEqualTo("The arithmetic does not hold: " + line + ".");
        return line;
    }

    @Test
    void theScaleBeforeTrainingIsChecked() {
        StartScale far = new StartScale(BudgetVariant.FEWER, 3, 1.1, 1.1402, 0.01);
        assertThat(new BudgetResult(RESULT.settings(), "", RESULT.runs(), List.of(far)).shortfall())
                .hasValue("start rms of fewer, seed 3: expected 1.1000 ± 0.0400 but was 1.1402");
    }

    @Test
    void whatIsLearnedIsFoundAsFarAsSeedsAgree() {
        assertThat(BudgetPage.markdown(RESULT, "p.svg"))
                .contains(
                        "the loss ends at `none` 2.000, `additive` 1.250, `fewer` 3.000, `narrower` 3.000 times",
                        "`additive` is lower in every seed (by 0.500 to 1.000); `fewer` is higher in every seed (by 1.000);",
                        "all 2 seeds would agree in one of 2; there are 6 comparisons.",
                        "a token 21 sets of experts to go to instead of 56",
                        "`fewer` stores as many (1728) numbers",
                        "computes as many (1296) and stores 360 less",
                        "`additive` stores 216 more and computes 432 more",
                        "the loss is 2.000 times as high with teacher `common`, and 2.000 times with teacher `groups`",
                        "makes the loss 3.000 and 3.000 times as high: higher than as trained in 12 of 12 students, and higher"
                                + " than with nothing in its place in 12.",
                        "`none` from 0.250 to 0.500",
                        "chance alone makes at most 0.031")
                .doesNotContain("do not agree");
        assertThat(BudgetPage.markdown(SmallBudget.ending(0.375, 0.625), "p.svg"))
                .contains("`additive` is lower in 1 of 2 seeds, which do not agree");
        assertThat(BudgetPage.markdown(SmallBudget.ending(0.375, 0.5), "p.svg"))
                .as("equal is not lower")
                .contains("`additive` is lower in 1 of 2 seeds, which do not agree");
    }

    @Test
    void pageHasTheShapeOfAStudy() {
        assertThat(BudgetPage.markdown(RESULT, "picture.svg"))
                .containsSubsequence(
                        "# ", "## Question", "## Setup", "## Table", "| variant |", "## Picture", "## What")
                .contains("](picture.svg)", "60 steps", "240 held-out", "2 seeds of teacher", "FastBackend[float64]")
                .endsWith("\n");
    }

    @Test
    void pictureHasALineForEveryVariantAndTheRangeOfTheSeeds() {
        LineFigure figure = BudgetPicture.of(RESULT);
        assertThat(figure.series()).hasSize(4).first().isEqualTo("no shared expert");
        assertThat(figure.panels())
                .extracting(Panel::title)
                .containsExactly(
                        "(a) Loss, common part",
                        "(b) Over none's, common part",
                        "(c) Over none's, no common part",
                        "(d) Specialization, common part");
        assertThat(figure.panels().get(0).lines().get(1).get(1)).isEqualTo(new Point(60, 1.25, 1, 1.5));
        assertThat(figure.panels().get(1).lines().get(1).get(1)).isEqualTo(new Point(60, 0.625, 0.5, 0.75));
        assertThat(figure.panels().get(2).lines().get(0).get(1)).isEqualTo(new Point(60, 1, 1, 1));
        assertThat(figure.panels().get(3).lines().get(2).get(0)).isEqualTo(new Point(0, 0.25, 0.25, 0.25));
    }

    @Test
    void rowsOfTheMiddle() {
        assertThat(new Rows(4, List.of(5, 1, 3), 0).median()).isEqualTo(3);
        Rows rows = new Rows(4, List.of(5, 1, 4, 2), 0);
        assertThat(rows.median()).isEqualTo(3);
        assertThat(rows.least()).isEqualTo(1);
        assertThat(rows.most()).isEqualTo(5);
        assertThat(rows.routed()).isEqualTo(12);
    }

    @Test
    void settingsAreChecked() {
        assertThatThrownBy(() -> new BudgetSettings(1, 10, 3, 5, 2))
                .hasMessage("every: expected a divisor of 10 (steps) but was 3");
        assertThatThrownBy(() -> new BudgetSettings(1, 10, 5, 5, 1))
                .hasMessage("starts: expected at least 2 but was 1");
        assertThat(new BudgetSettings(2, 60, 30, 100, 4).measurements()).isEqualTo(12);
        assertThat(BudgetSettings.quick().seeds()).isEqualTo(1);
    }
}
