package org.moe4j.bench.study.mergescale;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;

/** Against the numbers that the report and the study's recipe give for {@code Σp² = 0.2589}. */
final class MergeScalePredictionTest {
    private static final ActiveWidths WIDTHS = new ActiveWidths(4, 2560, 1280);
    private static final List<ScaledMerge> CONVENTIONS = Quantity.conventions(WIDTHS);
    private static final MergeScalePrediction PREDICTION = MergeScalePrediction.of(WIDTHS, 2560, 0.2589);

    @Test
    void rmsRatios() {
        follows(Quantity.OUTPUT_RMS, 5e-5, 1.0157, 0.4107, 0.2053, 0.2164);
        follows(Quantity.INPUT_GRAD_RMS_FIXED, 5e-5, 1.0157, 0.4107, 0.2053, 0.2164);
    }

    @Test
    void cosines() {
        follows(Quantity.COSINE, 5e-5, 0.9845, 0.8117, 0.8117, 0.9698);
    }

    @Test
    void inputGradientThroughTheRouter() {
        follows(Quantity.INPUT_GRAD_RMS_ROUTER, 5e-4, 1.055, 0.417, 0.208, 0.226);
    }

    @Test
    void downGradients() {
        follows(Quantity.ROUTED_DOWN_GRAD_RMS, 1e-15, 1, 1.0 / 4, 1.0 / 8, 2.0 / 9);
        follows(Quantity.SHARED_DOWN_GRAD_RMS, 1e-15, 1, 1, 1.0 / 2, 1.0 / 9);
        assertThat(PREDICTION.of(Quantity.DENSE_ROUTED_DOWN_GRAD)).isCloseTo(0.9825, within(2e-4));
        assertThat(PREDICTION.of(Quantity.DENSE_SHARED_DOWN_GRAD)).isEqualTo(1);
    }

    @Test
    void branchRatioIsTheRootOfTheWidths() {
        assertThat(PREDICTION.of(Quantity.BRANCH_RMS_RATIO)).isCloseTo(0.7071, within(5e-5));
    }

    @Test
    void theRouterItselfIsNotPredicted() {
        assertThat(PREDICTION.of(Quantity.SUM_P_SQUARED)).isNaN();
    }

    @Test
    void aTenthOfTheSizeHasTheSamePredictions() {
        MergeScalePrediction small = MergeScalePrediction.of(new ActiveWidths(4, 256, 128), 256, 0.2589);
        List<ScaledMerge> conventions = Quantity.conventions(small.widths());
        for (int i = 0; i < conventions.size(); i++) {
            assertThat(small.of(Quantity.INPUT_GRAD_RMS_ROUTER, conventions.get(i)))
                    .isCloseTo(PREDICTION.of(Quantity.INPUT_GRAD_RMS_ROUTER, CONVENTIONS.get(i)), within(1e-12));
        }
    }

    /** The closed form of a truncated normal's variance, {@code 1 − 2cφ(c)/(Φ(c) − Φ(−c))}, at c = 3. */
    @Test
    void varianceOfACutNormal() {
        double density = Math.exp(-4.5) / Math.sqrt(2 * Math.PI);
        double inside = 0.9973002039367398;
        assertThat(MergeScalePrediction.varianceAfterCut(3)).isCloseTo(1 - 6 * density / inside, within(1e-10));
    }

    private static void follows(Quantity quantity, double rounding, double... expected) {
        for (int i = 0; i < expected.length; i++) {
            assertThat(PREDICTION.of(quantity, CONVENTIONS.get(i)))
                    .as("%s of %s", quantity, CONVENTIONS.get(i).name())
                    .isCloseTo(expected[i], within(rounding));
        }
    }
}
