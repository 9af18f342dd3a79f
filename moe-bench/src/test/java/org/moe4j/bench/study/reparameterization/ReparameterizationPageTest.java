package org.moe4j.bench.study.reparameterization;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;

final class ReparameterizationPageTest {
    private static final ReparameterizationResult RESULT = SmallReparameterization.of(0, 2e-15, 0.5);

    /** SGD has 5 treatments, with momentum 7, AdamW and Muon 8 each. */
    private static final int LAYERS = 5 + 7 + 8 + 8;

    @Test
    void csvHasAllMeasurementsWithAllDigits() {
        List<String> lines = ReparameterizationPage.csv(RESULT).csv().lines().toList();
        assertThat(lines).hasSize(1 + LAYERS * 2 * 3);
        assertThat(lines.get(0))
                .isEqualTo("optimizer,treatment,convention,routed_factor,shared_factor,step,function_deviation,"
                        + "parameter_deviation");
        assertThat(lines.get(5)).isEqualTo("sgd,mapped,second,4.0,3.0,20,2.0E-15,1.0E-15");
        assertThat(lines.get(lines.size() - 1)).isEqualTo("muon,halfway-state-kept,second,4.0,3.0,40,0.125,0.0625");
    }

    @Test
    void tableHasTheLargestOverTheSteps() {
        List<String> lines =
                ReparameterizationPage.table(RESULT).aligned().lines().toList();
        assertThat(lines)
                .hasSize(2 + LAYERS)
                .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(130));
        assertThat(lines.get(0).split(" {2,}"))
                .containsExactly("optimizer", "rewritten layer", "should", "first", "second", "parameters");
        assertThat(lines.get(2).split(" {2,}"))
                .containsExactly("SGD", "all mapped", "follows", "0", "2.0e-15", "1.0e-15");
        assertThat(lines.get(3).split(" {2,}"))
                .containsExactly("SGD", "nothing mapped", "parts", "5.0e-01", "5.0e-01", "2.5e-01");
    }

    @Test
    void everyLimitIsChecked() {
        assertThat(RESULT.shortfall()).isEmpty();
        assertThat(SmallReparameterization.of(0, 1e-9, 1e-8).shortfall()).isEmpty();
        assertThat(SmallReparameterization.of(0, 1.01e-9, 1e-8).shortfall().orElseThrow())
                .isEqualTo("sgd: deviation of second, mapped: expected at most 1e-09 but was 1.0e-09");
        assertThat(SmallReparameterization.of(1e-17, 1e-9, 1e-8).shortfall().orElseThrow())
                .isEqualTo("sgd: deviation of first, mapped: expected at most 0e+00 but was 1.0e-17");
        assertThat(SmallReparameterization.of(0, 1e-9, 0.99e-8).shortfall().orElseThrow())
                .isEqualTo("sgd: deviation of first, unchanged: expected at least 1e-08 but was 9.9e-09");
        assertThat(SmallReparameterization.of(0, Double.NaN, 1).shortfall()).isPresent();
        assertThat(SmallReparameterization.of(0, 0, Double.NaN).shortfall()).isPresent();
    }

    @Test
    void theVerdictHasTheLimits() {
        assertThat(ReparameterizationPage.verdict(RESULT)).contains("within 1e-09", "to the bit", "beyond 1e-08");
        assertThat(ReparameterizationPage.verdict(SmallReparameterization.of(0, 1, 1)))
                .startsWith("The factors fell short: sgd: deviation of second, mapped:");
    }

    @Test
    void pageHasTheShapeOfAStudy() {
        assertThat(ReparameterizationPage.markdown(RESULT, "picture.svg"))
                .containsSubsequence(
                        "# ", "## Question", "## Setup", "## Table", "| optimizer |", "## Picture", "## What it shows")
                .contains("](picture.svg)", "40 steps", "100 tokens", "rewritten after 20 steps", "Fast[float64]")
                .contains("`first` 4 and 0.5, `second` 4 and 3", "clips 50 to 50 % of its steps")
                .contains("from 9.00 to 1.00 (SGD), 2.00 (SGD with momentum), 3.00 (AdamW), 4.00 (Muon)")
                .contains("to at most 2.0e-15 of", "by 5.0e-01 to 5.0e-01 of", "came as close as 1.0e-05")
                .endsWith("\n");
    }

    @Test
    void pictureShowsTheLastConvention() {
        LineFigure figure = ReparameterizationPicture.of(RESULT);
        assertThat(figure.subtitle()).contains("to second: routed down projections times 4, shared ones times 3.");
        assertThat(figure.panels())
                .extracting(Panel::title)
                .containsExactly("(a) SGD with momentum", "(b) AdamW", "(c) AdamW, clipped or rewritten half-way");
        assertThat(figure.panels()).extracting(panel -> panel.lines().size()).containsExactly(3, 4, 4);
        assertThat(figure.panels().get(0).series()).containsExactly("all mapped", "nothing mapped", "all but decay");
        assertThat(figure.panels().get(0).x().ticks()).containsExactly(0.0, 10.0, 20.0, 30.0, 40.0);
        assertThat(figure.panels().get(0).lines().get(0).get(1)).isEqualTo(new Point(20, 2e-15, 2e-15, 2e-15));
    }

    @Test
    void settingsAreChecked() {
        assertThatThrownBy(() -> new ReparameterizationSettings(5, 1, 1, 1))
                .hasMessage("steps: expected an even number but was 5");
        assertThatThrownBy(() -> new ReparameterizationSettings(20, 4, 1, 1))
                .hasMessage("every: expected a divisor of 10 (half of the steps) but was 4");
        assertThatThrownBy(() -> new ReparameterizationSettings(20, 5, 0, 1))
                .hasMessage("tokens: expected at least 1 but was 0");
        assertThat(new ReparameterizationSettings(20, 5, 1, 1).progress()).isEqualTo(4 * 20);
    }
}
