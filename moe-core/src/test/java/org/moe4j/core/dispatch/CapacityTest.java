package org.moe4j.core.dispatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.preset.Preset;

class CapacityTest {
    @TempDir
    Path folder;

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
    void factorRoundedDownIsMegaBlocks() {
        assertThat(down(1.0).rowsPerExpert(even(8, 4, 2))).isEqualTo(4); // 8·2/4
        assertThat(down(1.0).rowsPerExpert(even(7, 4, 2))).isEqualTo(3); // 3.5 down
        assertThat(down(1.25).rowsPerExpert(even(10, 4, 2))).isEqualTo(6); // 6.25 down
        // the share first: int(1.4 · (30 / 7)) = int(5.999999999999999) = 5, though int(1.4 · 30 / 7) = 6
        assertThat(down(1.4).rowsPerExpert(even(15, 7, 2))).isEqualTo(5);
        assertThat(down(100).rowsPerExpert(even(8, 4, 2))).isEqualTo(8);
        assertThat(down(1).rowsPerExpert(even(0, 4, 2))).isZero();
    }

    @Test
    void zeroRowsRoundedDownAreTheLargestCountSoThatNothingIsDropped() {
        Routing uneven = Routing.of(8, 1, new int[] {5, 1, 5, 5}, new double[4]);
        assertThat(down(1).rowsPerExpert(uneven)).isEqualTo(3); // 4/8 down is 0; expert 5 has three tokens
        assertThat(down(2).rowsPerExpert(uneven)).isEqualTo(1); // twice the factor keeps less
        assertThat(Capacity.factor(1).rowsPerExpert(uneven)).isEqualTo(1); // up there are never 0 rows for some tokens
        DispatchPlan plan = DispatchPlan.of(uneven, down(1));
        assertThat(plan.dropped()).isZero();
        assertThat(DispatchPlan.of(uneven, down(2)).dropped()).isEqualTo(2);
    }

    private static Capacity down(double factor) {
        return Capacity.factor(factor, Capacity.Rounding.DOWN);
    }

    @Test
    void isReadFromAPreset() throws IOException {
        assertThat(from()).isEqualTo(Capacity.dropless());
        assertThat(from("capacity.factor = 1.25")).isEqualTo(Capacity.factor(1.25));
        assertThat(from("capacity.factor = 1.25", "capacity.rounding = up")).isEqualTo(Capacity.factor(1.25));
        assertThat(from("capacity.factor = 1", "capacity.rounding = down")).isEqualTo(down(1));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "capacity.factor = 0|capacity.factor: expected a finite number above 0 but was 0",
                "capacity.factor = -1|capacity.factor: expected a finite number above 0 but was -1",
                "capacity.factor = NaN|capacity.factor: expected a number, as 2.5 or 1e-20 but was NaN",
                "capacity.factor = Infinity|capacity.factor: expected a number, as 2.5 or 1e-20 but was Infinity",
                "capacity.factor = all|capacity.factor: expected a number, as 2.5 or 1e-20 but was all",
                "capacity.rounding = down|capacity.factor: expected a finite number above 0 but was absent",
                "capacity.factor = 1;capacity.rounding = off|capacity.rounding: expected one of [down, up] but was off",
                "capacity.factors = 1|unknown key capacity.factors; did you mean capacity.factor?",
            })
    void aBadSectionIsRefused(String lines, String message) {
        assertThatThrownBy(() -> from(lines.split(";")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("preset mine: " + message);
    }

    private Capacity from(String... lines) throws IOException {
        Path file = folder.resolve("mine.properties");
        Files.writeString(file, "name = Mine\nsource = here\n" + String.join("\n", lines));
        return Capacity.from(Preset.load(file));
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
