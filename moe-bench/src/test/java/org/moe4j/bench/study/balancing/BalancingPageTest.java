package org.moe4j.bench.study.balancing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;

final class BalancingPageTest {
    private static final BalancingResult RESULT = SmallBalancing.ending(1.1, 0.25, 0.255);

    @Test
    void csvHasAllMeasurementsWithAllDigits() {
        List<String> lines = BalancingPage.csv(RESULT).csv().lines().toList();
        assertThat(lines).hasSize(1 + 3 * 2 * 3);
        assertThat(lines.get(0)).isEqualTo("method,seed,step,max_over_mean,variation,loss,teacher_loss");
        assertThat(lines.get(1)).isEqualTo("none,1,0,3.5,1.5,2.0,0.25");
        assertThat(lines.get(18)).isEqualTo("bias,2,60," + (1.1 + 0.01) + ",0.25,0.255,0.25");
    }

    @Test
    void tableHasStartAndEndSideBySide() {
        List<String> lines = BalancingPage.table(RESULT).aligned().lines().toList();
        assertThat(lines.get(0).split(" {2,}"))
                .containsExactly("method", "quantity", "start", "[min, max]", "end", "[min, max]");
        assertThat(lines.get(5).split(" {2,}"))
                .containsExactly("loss", "max_over_mean", "3.500", "[3.500, 3.500]", "1.105", "[1.100, 1.110]");
        assertThat(lines.get(4).split(" {2,}"))
                .containsExactly("none", "loss_over_teacher", "8.000", "[8.000, 8.000]", "2.000", "[2.000, 2.000]");
        assertThat(lines).hasSize(2 + 9).allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(120));
    }

    @Test
    void theVerdictHasBothLimits() {
        assertThat(BalancingPage.verdict(RESULT)).contains("at most 50 %", "within 5 %");
        assertThat(BalancingPage.verdict(SmallBalancing.ending(1.75, 0.25, 0.255)))
                .isEqualTo(
                        "Balancing fell short: max_over_mean of loss, seed 2: expected at most 1.7500 but was 1.7600.");
    }

    @Test
    void everyLimitIsChecked() {
        assertThat(SmallBalancing.ending(1.74, 0.75, 0.2624).shortfall()).isEmpty();
        assertThat(SmallBalancing.ending(1.1, 0.7501, 0.255).shortfall().orElseThrow())
                .isEqualTo("variation of loss, seed 1: expected at most 0.7500 but was 0.7501");
        assertThat(SmallBalancing.ending(1.1, 0.25, 0.2626).shortfall().orElseThrow())
                .isEqualTo("loss_over_teacher of loss, seed 1: expected at most 1.0500 but was 1.0504");
        assertThat(SmallBalancing.ending(1.1, 0.25, Double.NaN).shortfall()).isPresent();
        assertThat(SmallBalancing.ending(Double.NaN, 0.25, 0.255).shortfall()).isPresent();
    }

    @Test
    void theStepIsTheFirstOneNearTheTeacher() {
        assertThat(RESULT.runs(BalancingMethod.LOSS).get(0).reachedAt()).hasValue(30);
        assertThat(RESULT.runs(BalancingMethod.NONE).get(0).reachedAt()).isEmpty();
        assertThat(BalancingPage.markdown(RESULT, "p.svg"))
                .contains("teacher's: never without balancing, 30 with the loss, 30 with the bias.");
    }

    @Test
    void pageHasTheShapeOfAStudy() {
        assertThat(BalancingPage.markdown(RESULT, "picture.svg"))
                .containsSubsequence(
                        "# ", "## Question", "## Setup", "## Table", "| method |", "## Picture", "## What it shows")
                .contains("](picture.svg)", "60 steps", "100 tokens", "2 seeds; the brackets", "FastBackend[float64]")
                .contains(
                        "at the end 3.005, 1.105 and 1.105.",
                        "ends at 2.000 times the teacher's without balancing, at 1.020")
                .endsWith("\n");
    }

    @Test
    void pictureHasALineForEveryMethodAndTheRangeOfTheSeeds() {
        LineFigure figure = BalancingPicture.of(RESULT);
        assertThat(figure.series()).containsExactly("no balancing", "load-balancing loss", "selection bias");
        assertThat(figure.panels())
                .extracting(Panel::title)
                .containsExactly("(a) Load of the fullest expert", "(b) Loss on held-out tokens");
        assertThat(figure.panels().get(0).x().ticks()).containsExactly(0.0, 20.0, 40.0, 60.0);
        Point end = figure.panels().get(0).lines().get(1).get(2);
        assertThat(end.x()).isEqualTo(60);
        assertThat(end.low()).isEqualTo(1.1);
        assertThat(end.high()).isEqualTo(1.1 + 0.01);
        assertThat(end.y()).isBetween(1.1, 1.1 + 0.01);
        assertThat(figure.panels().get(1).lines().get(0).get(0)).isEqualTo(new Point(0, 8, 8, 8));
    }

    @Test
    void settingsAreChecked() {
        assertThatThrownBy(() -> new BalancingSettings(1, 10, 3, 5))
                .hasMessage("every: expected a divisor of 10 (steps) but was 3");
        assertThatThrownBy(() -> new BalancingSettings(0, 10, 5, 5)).hasMessage("seeds: expected at least 1 but was 0");
        assertThat(new BalancingSettings(2, 60, 30, 100).measurements()).isEqualTo(6);
    }
}
