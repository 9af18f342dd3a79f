package org.moe4j.bench.study.reparameterization;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.merge.rewrite.Rescaling;

/** The factors of every treatment, written out for c = 8. */
final class FactorsTest {
    private static final Rescaling EIGHT = new Rescaling(8);

    @Test
    void gradientDescentHasTheSquare() {
        assertThat(Factors.of(Descent.MOMENTUM, Treatment.MAPPED, EIGHT))
                .isEqualTo(new Factors(64, 1 / 8.0, 1 / 64.0, 1 / 8.0, 1 / 64.0));
        assertThat(Factors.of(Descent.SGD, Treatment.WITHOUT_DECAY, EIGHT))
                .isEqualTo(new Factors(64, 1 / 8.0, 1, 1 / 8.0, 1 / 64.0));
    }

    @ParameterizedTest
    @EnumSource(names = {"ADAMW", "MUON"})
    void theOthersHaveTheFactorItself(Descent descent) {
        Factors all = new Factors(8, 1 / 8.0, 1 / 8.0, 1 / 8.0, 1 / 64.0);
        assertThat(Factors.of(descent, Treatment.MAPPED, EIGHT)).isEqualTo(all);
        assertThat(Factors.of(descent, Treatment.CLIPPED, EIGHT)).isEqualTo(all);
        assertThat(Factors.of(descent, Treatment.CLIPPED_BACK, EIGHT)).isEqualTo(all);
        assertThat(Factors.of(descent, Treatment.HALFWAY, EIGHT)).isEqualTo(all);
    }

    @Test
    void whatATreatmentLeavesOutIsOne() {
        assertThat(Factors.of(Descent.ADAMW, Treatment.UNCHANGED, EIGHT)).isEqualTo(new Factors(1, 1, 1, 1, 1));
        assertThat(Factors.of(Descent.ADAMW, Treatment.WITHOUT_EPSILON, EIGHT))
                .isEqualTo(new Factors(8, 1, 1 / 8.0, 1 / 8.0, 1 / 64.0));
        assertThat(Factors.of(Descent.ADAMW, Treatment.WITHOUT_DECAY, EIGHT))
                .isEqualTo(new Factors(8, 1 / 8.0, 1, 1 / 8.0, 1 / 64.0));
        assertThat(Factors.of(Descent.ADAMW, Treatment.HALFWAY_STATE_KEPT, EIGHT))
                .isEqualTo(new Factors(8, 1 / 8.0, 1 / 8.0, 1, 1));
    }

    @Test
    void stateIsMultiplied() {
        Factors factors = Factors.of(Descent.ADAMW, Treatment.HALFWAY, EIGHT);
        assertThat(factors.means(new double[] {16, -4})).containsExactly(2, -0.5);
        assertThat(factors.squares(new double[] {64, 128})).containsExactly(1, 2);
    }
}
