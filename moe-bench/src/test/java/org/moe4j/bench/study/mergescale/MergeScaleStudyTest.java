package org.moe4j.bench.study.mergescale;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.study.mergescale.MergeScaleResult.Row;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;

/** The study at a fortieth of its size: what is exact there is exact here. */
final class MergeScaleStudyTest {
    private static final Preset SMALL = Preset.named("olmo-study").scaledTo(64, 64);
    private static final MergeScaleSettings SETTINGS = new MergeScaleSettings(SMALL, 2, 64, SMALL, 2, 64, 0.1);
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final List<String> CONVENTIONS =
            List.of("olmo", "routed-unit-sum", "equal-branch-mass", "width-proportional");
    private static final AtomicInteger STEPS = new AtomicInteger();

    private static MergeScaleResult result;

    @BeforeAll
    static void run() {
        result = MergeScaleStudy.run(SETTINGS, BACKEND, BACKEND, STEPS::incrementAndGet);
    }

    @Test
    void downGradientsDifferByConstantFactors() {
        double[] routed = {1, 1.0 / 4, 1.0 / 8, 2.0 / 9};
        double[] shared = {1, 1, 1.0 / 2, 1.0 / 9};
        for (int i = 0; i < CONVENTIONS.size(); i++) {
            exactly(result.row(CONVENTIONS.get(i), "routed_down_grad_rms"), routed[i]);
            exactly(result.row(CONVENTIONS.get(i), "shared_down_grad_rms"), shared[i]);
        }
    }

    private static void exactly(Row row, double expected) {
        assertThat(row.mean()).isCloseTo(expected, within(1e-9));
        assertThat(row.min()).isCloseTo(expected, within(1e-9));
        assertThat(row.max()).isCloseTo(expected, within(1e-9));
    }

    /** A common factor of both branches changes lengths and not directions. */
    @Test
    void equalBranchMassIsHalfOfRoutedUnitSum() {
        for (String quantity : List.of("output_rms", "input_grad_rms_fixed", "input_grad_rms_router")) {
            assertThat(result.row("equal-branch-mass", quantity).mean())
                    .isCloseTo(result.row("routed-unit-sum", quantity).mean() / 2, within(1e-12));
        }
        assertThat(result.row("equal-branch-mass", "cosine").mean())
                .isCloseTo(result.row("routed-unit-sum", "cosine").mean(), within(1e-12));
    }

    /** {@code 8/9 = (2/9)·4} and {@code 1/9 = (1/9)·1}: not a multiple of Olmo's rule, but nearer to its direction. */
    @Test
    void theDirectionsAreInTheOrderOfTheFigure() {
        double olmo = result.row("olmo", "cosine").mean();
        double width = result.row("width-proportional", "cosine").mean();
        double unit = result.row("routed-unit-sum", "cosine").mean();
        assertThat(olmo).isBetween(width, 1.0);
        assertThat(width).isBetween(unit, olmo);
    }

    @Test
    void rowsComeByPanelQuantityAndConvention() {
        assertThat(result.rows()).hasSize(28);
        assertThat(result.rows().subList(0, 24))
                .extracting(Row::convention)
                .containsExactlyElementsOf(Collections.nCopies(6, CONVENTIONS).stream()
                        .flatMap(List::stream)
                        .toList());
        assertThat(result.rows().subList(24, 28))
                .extracting(row -> row.panel() + " " + row.convention() + " " + row.quantity())
                .containsExactly(
                        "- - sum_p_squared",
                        "- - branch_rms_ratio",
                        "- dense dense_routed_down_grad",
                        "- dense dense_shared_down_grad");
        Map<String, String> panels = Map.of("output_rms", "a", "input_grad_rms_router", "b", "cosine", "d");
        panels.forEach((quantity, panel) ->
                assertThat(result.row("olmo", quantity).panel()).isEqualTo(panel));
    }

    @Test
    void aMeanLiesBetweenItsSeeds() {
        assertThat(result.rows())
                .allSatisfy(row -> assertThat(row.mean()).isBetween(row.min() - 1e-15, row.max() + 1e-15));
        Row varying = result.row("olmo", "output_rms");
        assertThat(varying.min()).isLessThan(varying.max());
    }

    @Test
    void predictionsTakeTheMeasuredConcentration() {
        double sumPSquared = result.row("-", "sum_p_squared").mean();
        assertThat(sumPSquared).isBetween(0.25, 0.27);
        assertThat(result.row("olmo", "output_rms").predicted().orElseThrow())
                .isCloseTo(Math.sqrt((16 * sumPSquared + 0.5) / 4.5), within(1e-12));
        assertThat(result.row("-", "sum_p_squared").predicted()).isEmpty();
    }

    @Test
    void theDenseReferenceOfTheSharedBranchIsOlmo() {
        exactly(result.row("dense", "dense_shared_down_grad"), 1);
    }

    @Test
    void runsTheSameAgainAndCountsItsSteps() {
        assertThat(STEPS.get()).isEqualTo(SETTINGS.steps()).isEqualTo(4);
        assertThat(MergeScaleStudy.run(SETTINGS, BACKEND, BACKEND, () -> {}).rows())
                .isEqualTo(result.rows());
    }

    @Test
    void aDisagreementNamesTheWorstRow() {
        assertThat(result.disagreement()).isEmpty();
        MergeScaleSettings strict = new MergeScaleSettings(SMALL, 2, 64, SMALL, 2, 64, 1e-9);
        MergeScaleResult judged = new MergeScaleResult(strict, "f", "b", result.rows());
        Row worst = result.rows().stream()
                .max(Comparator.comparingDouble(row -> Math.abs(row.difference().orElse(0))))
                .orElseThrow();
        assertThat(judged.disagreement().orElseThrow())
                .startsWith(worst.quantity() + " of " + worst.convention() + ": expected ")
                .doesNotContain("\n");
    }

    @Test
    void anInexactRatioIsADisagreement() {
        List<Row> rows = result.rows().stream()
                .map(row -> row.exact() && row.convention().equals("routed-unit-sum")
                        ? new Row(
                                row.panel(),
                                row.convention(),
                                row.quantity(),
                                row.mean(),
                                row.min(),
                                row.max() + 2e-6,
                                row.predicted(),
                                row.published(),
                                true)
                        : row)
                .toList();
        assertThat(new MergeScaleResult(SETTINGS, "f", "b", rows).disagreement().orElseThrow())
                .contains("of routed-unit-sum: expected", "within 1e-06 for every seed but was");
    }

    @Test
    void aMeanThatIsNoNumberIsADisagreement() {
        List<Row> rows = result.rows().stream()
                .map(row -> row.quantity().equals("cosine")
                        ? new Row(
                                "d",
                                row.convention(),
                                "cosine",
                                Double.NaN,
                                0,
                                0,
                                row.predicted(),
                                row.published(),
                                false)
                        : row)
                .toList();
        assertThat(new MergeScaleResult(SETTINGS, "f", "b", rows).disagreement().orElseThrow())
                .contains("cosine of", "NaN");
    }

    @Test
    void anUnknownRowIsSaidToBeUnknown() {
        assertThatThrownBy(() -> result.row("olmo", "taste"))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessage("row: expected one of the study but was olmo, taste");
    }
}
