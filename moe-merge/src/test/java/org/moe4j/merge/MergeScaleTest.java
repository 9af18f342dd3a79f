package org.moe4j.merge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class MergeScaleTest {
    private static final ActiveWidths STUDY = new ActiveWidths(4, 2560, 1280);

    static Stream<Arguments> predictions() {
        return Stream.of(
                Arguments.of(ScaledMerge.olmo(STUDY), 1.0157, .9845),
                Arguments.of(ScaledMerge.routedUnitSum(STUDY), .4107, .8117),
                Arguments.of(ScaledMerge.equalBranchMass(STUDY), .2053, .8117),
                Arguments.of(ScaledMerge.widthProportional(STUDY), .2164, .9698));
    }

    @ParameterizedTest
    @MethodSource("predictions")
    void predictsTheRatiosOfTheStudyFromItsConcentration(ScaledMerge convention, double rms, double cosine) {
        MergeScale scale = MergeScale.of(convention, STUDY, .2589);
        assertThat(scale.rmsRatio()).isCloseTo(rms, within(5e-5));
        assertThat(scale.cosine()).isCloseTo(cosine, within(5e-5));
        assertThat(scale.varianceRatio()).isCloseTo(scale.rmsRatio() * scale.rmsRatio(), within(1e-15));
    }

    @Test
    void predictsTheVarianceRatioOfOlmo() {
        MergeScale scale = MergeScale.of(ScaledMerge.olmo(STUDY), STUDY, .2589);
        assertThat(scale.varianceRatio()).isCloseTo(1.032, within(5e-4)); // Section 21.3
        assertThat(scale.weightedMean()).isEqualTo(1);
    }

    @Test
    void givesTheNumbersOfFigure69() {
        double[] p = {.28, .22, .30, .20};
        double[] r = new double[4];
        double sumPSquared = 0;
        for (int i = 0; i < 4; i++) {
            r[i] = ScaledMerge.olmo(STUDY).routedScale() * p[i];
            sumPSquared += p[i] * p[i];
        }
        assertThat(r).containsExactly(new double[] {1.12, .88, 1.20, .80}, within(1e-15));
        assertThat(sumPSquared).isCloseTo(.2568, within(1e-15));
        MergeScale scale = MergeScale.of(STUDY, r, 1);
        assertThat(scale.weightedMean()).isCloseTo(1, within(1e-15));
        assertThat(scale.varianceRatio()).isCloseTo((2560 * 16 * .2568 + 1280) / 11_520, within(1e-15));
        assertThat(scale.varianceRatio()).isCloseTo(1.024, within(5e-4));
        MergeScale same = MergeScale.of(ScaledMerge.olmo(STUDY), STUDY, sumPSquared);
        assertThat(same.varianceRatio()).isCloseTo(scale.varianceRatio(), within(1e-15));
        assertThat(same.cosine()).isCloseTo(scale.cosine(), within(1e-15));
    }

    @Test
    void uniformOlmoIsDense() {
        assertThat(MergeScale.of(ScaledMerge.olmo(STUDY), STUDY, .25)).isEqualTo(new MergeScale(1, 1, 1, 1));
        ActiveWidths alone = new ActiveWidths(3, 7, 0);
        assertThat(MergeScale.of(alone, new double[] {1, 1, 1}, 99)).isEqualTo(new MergeScale(1, 1, 1, 1));
    }

    @Test
    void anOutputThatVanishesHasNoDirection() {
        assertThat(MergeScale.of(STUDY, new double[4], 0)).isEqualTo(new MergeScale(0, 0, 0, 0));
    }

    @Test
    void rulesWithoutWidthsFitAll() {
        assertThat(MergeScale.of(ScaledMerge.sum(), STUDY, .2589))
                .isEqualTo(MergeScale.of(ScaledMerge.routedUnitSum(STUDY), STUDY, .2589));
        assertThat(MergeScale.of(ScaledMerge.scaled(4, 1), STUDY, .2589))
                .isEqualTo(MergeScale.of(ScaledMerge.olmo(STUDY), STUDY, .2589));
    }

    @Test
    void theActiveMeanIsAFixedPair() {
        assertThat(MergeScale.of(ScaledMerge.activeMean(4), STUDY, .2589))
                .isEqualTo(MergeScale.of(ScaledMerge.scaled(.8, .2), STUDY, .2589));
        for (ActiveWidths wrong : new ActiveWidths[] {new ActiveWidths(8, 2560, 1280), new ActiveWidths(4, 2560, 0)}) {
            assertThatThrownBy(() -> MergeScale.of(ScaledMerge.activeMean(4), wrong, .25))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(
                            "widths: expected topK = 4 and a shared expert (merge.convention = active-mean) but was "
                                    + wrong);
        }
    }

    @Test
    void badNumbersAreRefused() {
        assertThatThrownBy(() -> MergeScale.of(STUDY, new double[3], 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("r: expected 4 coefficients (topK) but was 3");
        assertThatThrownBy(() -> MergeScale.ofMoments(STUDY, Double.NaN, 1, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("sumR: expected a finite number but was NaN");
        assertThatThrownBy(() -> MergeScale.ofMoments(STUDY, 1, -1, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("sumRSquared: expected at least 0 but was -1.0");
        for (double sum : new double[] {.24, 1.01, Double.NaN}) {
            assertThatThrownBy(() -> MergeScale.of(ScaledMerge.sum(), STUDY, sum))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("sumPSquared: expected 0.25..1 (1/topK..1) but was " + sum);
        }
        ActiveWidths other = new ActiveWidths(4, 2560, 640);
        assertThatThrownBy(() -> MergeScale.of(ScaledMerge.olmo(STUDY), other, .25))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("widths: expected ActiveWidths[topK=4, routedWidth=2560, sharedWidth=1280]"
                        + " (merge.convention = olmo) but was ActiveWidths[topK=4, routedWidth=2560, sharedWidth=640]");
    }
}
