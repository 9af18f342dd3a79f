package org.moe4j.bench.study.mergescale;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.support.BarFigure;
import org.moe4j.bench.support.BarFigure.Bar;
import org.moe4j.bench.support.BarFigure.Panel;

final class MergeScalePageTest {
    private static final MergeScaleResult RESULT = SmallResult.published(0.001);

    @Test
    void csvHasTheHeaderThatScriptsParseAndAllDigits() {
        List<String> lines = MergeScalePage.csv(RESULT).csv().lines().toList();
        assertThat(lines).hasSize(29);
        assertThat(lines.get(0)).isEqualTo("panel,convention,quantity,mean,min,max,predicted,published");
        assertThat(lines.get(1))
                .isEqualTo("a,olmo,output_rms," + (1.016 + 0.001) + "," + (1.016 + 0.001 - 0.001) + ","
                        + (1.016 + 0.001 + 0.001) + "," + (1.016 + 0.001) + ",1.016");
        assertThat(lines).anySatisfy(line -> assertThat(line).matches("-,-,sum_p_squared,0\\.2599.*,,0\\.2589"));
        assertThat(lines).anySatisfy(line -> assertThat(line).startsWith("-,dense,dense_routed_down_grad,"));
        assertThat(lines).allSatisfy(line -> assertThat(line.split(",", -1)).hasSize(8));
    }

    @Test
    void tableStandsMeasuredPredictedAndPublishedSideBySide() {
        List<String> lines = MergeScalePage.table(RESULT).aligned().lines().toList();
        assertThat(lines.get(0).split(" {2,}"))
                .containsExactly(
                        "panel",
                        "convention",
                        "quantity",
                        "measured",
                        "[min, max]",
                        "predicted",
                        "published",
                        "difference");
        assertThat(lines.get(2).split(" {2,}"))
                .containsExactly("a", "olmo", "output_rms", "1.0170", "[1.0160, 1.0180]", "1.0170", "1.016", "+0.0010");
        assertThat(lines).allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(120));
    }

    @Test
    void verdictSaysTheTolerances() {
        assertThat(MergeScalePage.verdict(RESULT))
                .isEqualTo("All 28 means are within 0.004 of the published ones;"
                        + " the ratios of panel c are exact within 1e-06 for every seed.");
        assertThat(MergeScalePage.verdict(SmallResult.published(0.005)))
                .startsWith("The measurements do not agree with the published ones: ")
                .contains("(published) within 0.004 but was");
    }

    @Test
    void pageHasTheShapeOfAStudy() {
        String page = MergeScalePage.markdown(RESULT, "picture.svg");
        assertThat(page)
                .containsSubsequence(
                        "# ", "## Question", "## Setup", "## Table", "| panel |", "## Picture", "## What it shows")
                .contains("](picture.svg)", "8 seeds × 512 tokens", "D 2560, F 2560, shared 1280, E 48, K 4")
                .contains("12 seeds × 1024 tokens", "D 256, F 256, shared 128, E 48, K 4", "FastBackend[float32]")
                .endsWith("\n");
        assertThat(MergeScalePage.markdown(SmallResult.published(0.001), "picture.svg"))
                .isEqualTo(page);
    }

    @Test
    void pictureShowsMeasuredRangeAndPublished() {
        BarFigure figure = MergeScalePicture.of(RESULT);
        assertThat(figure.panels())
                .extracting(Panel::title)
                .containsExactly(
                        "(a) Forward output RMS relative to matched dense",
                        "(b) Input-gradient RMS relative to matched dense",
                        "(c) Weight-gradient RMS relative to the Olmo rule",
                        "(d) Cosine similarity to matched dense output");
        assertThat(figure.panels()).extracting(panel -> panel.series().size()).containsExactly(1, 2, 2, 1);
        assertThat(figure.panels())
                .extracting(panel -> panel.reference().isPresent())
                .containsExactly(true, true, true, false);
        assertThat(figure.groups().get(3)).containsExactly("Width-proportional", "r = 8p/9, s = 1/9");
        Bar bar = figure.panels().get(1).series().get(1).bars().get(3);
        assertThat(bar.value()).isEqualTo(0.225 + 0.001);
        assertThat(bar.low()).isLessThan(bar.value());
        assertThat(bar.high()).isGreaterThan(bar.value());
        assertThat(bar.marker().orElseThrow()).isEqualTo(0.225);
    }
}
