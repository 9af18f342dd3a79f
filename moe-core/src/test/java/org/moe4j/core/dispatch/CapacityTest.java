package org.moe4j.core.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class CapacityTest {
    private static Routing even(int tokens, int experts, int topK) {
        int[] indices = new int[tokens * topK];
        for (int i = 0; i < indices.length; i++) {
            indices[i] = i % experts;
        }
        return Routing.of(experts, topK, indices, new double[indices.length]);
    }

    @Test
    void droplessTakesEveryToken() {
        assertThat(Capacity.dropless().rowsPerExpert(even(7, 4, 2))).isEqualTo(7);
    }

    @Test
    void factorRoundsUpTheMultipleOfTheEvenShare() {
        assertThat(Capacity.factor(1.0).rowsPerExpert(even(8, 4, 2))).isEqualTo(4); // 8·2/4
        assertThat(Capacity.factor(1.0).rowsPerExpert(even(7, 4, 2))).isEqualTo(4); // 3.5 up
        assertThat(Capacity.factor(1.25).rowsPerExpert(even(8, 4, 2))).isEqualTo(5);
        // Megatron-Core computes ceil(100 / 10 · 1.1) = 11 in double, though 100 · 1.1 / 10 would round up to 12
        assertThat(Capacity.factor(1.1).rowsPerExpert(even(50, 10, 2))).isEqualTo(11);
        assertThat(Capacity.factor(0.01).rowsPerExpert(even(8, 4, 2))).isEqualTo(1);
    }

    @Test
    void neverMoreThanAllTokens() {
        assertThat(Capacity.factor(100).rowsPerExpert(even(8, 4, 2))).isEqualTo(8);
        assertThat(Capacity.factor(1).rowsPerExpert(even(0, 4, 2))).isZero();
    }

    @Test
    void refusesFactorsThatAreNone() {
        for (double factor : new double[] {0, -1, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThatThrownBy(() -> Capacity.factor(factor))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("factor: expected a finite number above 0 but was " + factor);
        }
    }
}
