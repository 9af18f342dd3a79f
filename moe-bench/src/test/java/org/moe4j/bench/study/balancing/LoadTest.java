package org.moe4j.bench.study.balancing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

final class LoadTest {
    /** Mean 4, squares of the differences 4 + 0 + 0 + 4, so that the standard deviation is √2. */
    @Test
    void maxAndDeviationAreInUnitsOfTheMean() {
        Load load = Load.of(new int[] {2, 4, 4, 6});
        assertThat(load.maxOverMean()).isEqualTo(1.5);
        assertThat(load.variation()).isCloseTo(Math.sqrt(2) / 4, within(1e-15));
    }

    @Test
    void evenIsOneAndZero() {
        assertThat(Load.of(new int[] {7, 7, 7})).isEqualTo(new Load(1, 0));
    }

    /** K of E experts get all: E/K times the mean, and √(E/K − 1) of it around. */
    @Test
    void twoOfEightExpertsGetAll() {
        Load load = Load.of(new int[] {100, 0, 0, 100, 0, 0, 0, 0});
        assertThat(load.maxOverMean()).isEqualTo(4);
        assertThat(load.variation()).isCloseTo(Math.sqrt(3), within(1e-15));
    }
}
