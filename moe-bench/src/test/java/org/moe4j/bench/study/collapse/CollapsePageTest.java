package org.moe4j.bench.study.collapse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;

final class CollapsePageTest {
    private static final SmallCollapse GOOD = SmallCollapse.good();
    private static final CollapseResult RESULT = GOOD.result();

    @Test
    void csvHasOneNumberInALine() {
        List<String> lines = CollapsePage.csv(RESULT).csv().lines().toList();
        assertThat(lines.get(0)).isEqualTo("part,size,widths,case,backend,step,quantity,value");
        // 2 backends, 6 partitions, 4 kinds with 3 differences, 6 costs and a share or a residual; gradients; points
        // and losses
        assertThat(lines).hasSize(1 + 2 * 6 * 4 * (3 + 1 + 6) + 2 * 3 * 2 + 10 * (3 + 3));
        assertThat(lines)
                .contains(
                        "function,figure,10+8+6,unit,Rough,,difference,1.0E-7",
                        "function,figure,10+8+6,unit,Rough,,difference_of_two_tokens,5.0E-8",
                        "function,figure,24,distinct-gates,Fine,,residual,0.25",
                        "function,figure,7+6+4+4+2+1,fixed,Fine,,parts_modules,6",
                        "gradient,student,10+8+6,gradients,Fine,,difference,2.0E-16",
                        "training,student,10+8+6,muon,Fine,20,deviation,0.4",
                        "training,student,10+8+6,adamw-joined,Fine,20,wide_loss,0.25");
    }

    @Test
    void tableHasEveryClaim() {
        List<String> lines = CollapsePage.table(RESULT).aligned().lines().toList();
        assertThat(lines.get(0).split(" {2,}"))
                .containsExactly("part", "case and quantity", "measured", "expected", "holds");
        assertThat(lines)
                .hasSize(2 + 3 * 3 + 2 + 1 + 4 + 2 * 2 + 1 + 10)
                .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(120));
        assertThat(lines)
                .anySatisfy(line -> assertThat(line.split(" {2,}"))
                        .containsExactly("training", "Muon: deviation", "0.40", "at least 0.01", "yes"))
                .anySatisfy(line -> assertThat(line.split(" {2,}"))
                        .containsExactly("cost", "three experts: parameters", "432", "exactly 432", "yes"));
    }

    @Test
    void everyLimitIsChecked() {
        assertThat(RESULT.shortfall()).isEmpty();
        falls(GOOD.withPrecise(1.1e-13), "unit, double: |Δ| / max norm: expected at most 1.0e-13 but was 1.1e-13");
        falls(GOOD.withPrecise(Double.NaN), "unit, double: |Δ| / max norm: expected at most 1.0e-13 but was NaN");
        falls(GOOD.withShare(1.5), "unit, single: |Δ| / bound: expected at most 1 but was 1.50");
        falls(GOOD.withGap(0.09), "distinct gates: |Δ| / max norm: expected at least 0.10 but was 0.09");
        falls(GOOD.withResidual(0.09), "distinct gates: residual of the best fit: expected at least 0.10");
        falls(
                GOOD.withSingle(3.1e-7),
                "three experts, two tokens, single: |Δ|: expected at most 3.0e-07 but was 3.1e-07");
        falls(GOOD.withGradient(1.1e-13), "gradients, double: |Δ| / max norm: expected at most 1.0e-13");
        falls(GOOD.withAlike(1.1e-10), "SGD: deviation: expected at most 1.0e-10 but was 1.1e-10");
        falls(GOOD.withApart(0.009), "Muon: deviation: expected at least 0.01 but was 9.0e-03");
        assertThat(GOOD.withSingle(2.9e-7).result().shortfall()).isEmpty();
    }

    private static void falls(SmallCollapse result, String line) {
        assertThat(result.result().shortfall().orElseThrow()).startsWith(line);
        assertThat(CollapsePage.verdict(result.result())).startsWith("The study fell short: " + line);
    }

    /** Parameters that differ by one between the forms, and forms that agree on a wrong number. */
    @Test
    void costsAreChecked() {
        FunctionRow row = RESULT.functions().get(9);
        assertThat(row.experts()).isEqualTo(3);
        assertThat(shortfall(row, 432, 433))
                .startsWith("one wide expert: parameters: expected exactly 432 but was 433");
        assertThat(shortfall(row, 431, 431)).startsWith("three experts: parameters: expected exactly 432 but was 431");
        FunctionRow other = RESULT.functions().get(0);
        assertThat(shortfall(other, 431, 432))
                .isEqualTo("all partitions: parameters, parts − wide: expected exactly 0 but was -1");
    }

    @Test
    void comparisonsAreChecked() {
        assertThat(compared(true, true, 2e-6))
                .isEqualTo("this, single: |Δ| / max norm: expected at most 1.2e-06 but was 2.0e-06");
        assertThat(compared(false, false, 0.05)).isEqualTo("this: |Δ| / max norm: expected at least 0.10 but was 0.05");
    }

    private static String compared(boolean same, boolean single, double difference) {
        Comparison row = new Comparison("routed", "this", same, "Any", single, difference, 1);
        return new CollapseResult(RESULT.settings(), RESULT.functions(), List.of(row), "Fine", RESULT.trajectories())
                .shortfall()
                .orElseThrow();
    }

    private static String shortfall(FunctionRow row, long parts, long wide) {
        FunctionRow changed = new FunctionRow(
                row.size(),
                row.widths(),
                row.coefficients(),
                row.backend(),
                row.single(),
                row.difference(),
                row.differenceOfTwo(),
                row.norm(),
                row.ofBound(),
                row.residual(),
                new FunctionRow.Cost(parts, 864, row.experts()),
                new FunctionRow.Cost(wide, 864, 1));
        return new CollapseResult(
                        RESULT.settings(), List.of(changed), RESULT.comparisons(), "Fine", RESULT.trajectories())
                .shortfall()
                .orElseThrow();
    }

    @Test
    void pageHasTheShapeOfAStudy() {
        assertThat(CollapsePage.markdown(RESULT, "picture.svg"))
                .containsSubsequence(
                        "# ",
                        "## Question",
                        "## Setup",
                        "## Table",
                        "| part |",
                        "| size |",
                        "| part | compared |",
                        "| training |",
                        "## Picture",
                        "## What it shows")
                .contains(
                        "](picture.svg)",
                        "20 batches",
                        "64 others",
                        "first two tokens: the largest difference is 5.0e-08")
                .contains("| figure | 3 | 10+8+6 | distinct gates | 0.50 | 0.50 | 0.250 |")
                .contains("| Muon | not alike | 1.0e-16 | 0.40 | 0.40 | 2.0000 | 0.2500 | 0.5000 |")
                .contains("| routed | rows of their own | not the same | 0.50 | 0.50 |", "off by 0.50 to 0.50")
                .contains("they differ by 1.0e-07 (Rough), 1.0e-16 (Fine) of the largest gradient")
                .endsWith("\n");
    }

    @Test
    void pictureHasFunctionsAndTraining() {
        LineFigure figure = CollapsePicture.of(RESULT);
        assertThat(figure.panels())
                .extracting(Panel::title)
                .containsExactly(
                        "(a) Function, single precision",
                        "(b) Function, double precision",
                        "(c) Training, double precision");
        Panel single = figure.panels().get(0);
        assertThat(single.series()).containsExactly("unit", "fixed", "common gate", "distinct gates");
        assertThat(single.lines().get(3)).hasSize(5).contains(new Point(2, 0.5, 0.5, 0.5));
        assertThat(figure.panels().get(1).lines().get(0).get(4)).isEqualTo(new Point(6, 2e-16, 2e-16, 2e-16));
        Panel training = figure.panels().get(2);
        assertThat(training.series()).containsExactly("SGD", "AdamW", "Muon", "AdamW, joined later");
        assertThat(training.lines().get(2).get(2)).isEqualTo(new Point(20, 0.4, 0.4, 0.4));
        assertThat(training.x().ticks()).containsExactly(0.0, 5.0, 10.0, 15.0, 20.0);
    }

    @Test
    void settingsAreChecked() {
        List<FunctionSize> sizes = List.of(FunctionSize.figure());
        assertThatThrownBy(() -> new CollapseSettings(sizes, 5, 1, 5))
                .hasMessage("steps: expected an even number of at least 2 but was 5");
        assertThatThrownBy(() -> new CollapseSettings(sizes, 20, 4, 5))
                .hasMessage("every: expected a divisor of 10 (half the steps) but was 4");
        assertThatThrownBy(() -> new CollapseSettings(sizes, 20, 5, 0))
                .hasMessage("heldOut: expected at least 1 but was 0");
        assertThatThrownBy(() -> new FunctionSize("s", 2, 4, 3, List.of(List.of(2, 1)), false))
                .hasMessage("partitions: expected widths of 4 in all but was [2, 1]");
        assertThatThrownBy(() -> new FunctionSize("s", 2, 4, 7, List.of(List.of(4)), true))
                .hasMessage("tokens: expected at least 8 (twice the width, fitted) but was 7");
        assertThatThrownBy(() -> new FunctionSize("s", 2, 4, 1, List.of(List.of(4)), false))
                .hasMessage("tokens: expected at least 2 but was 1");
    }
}
