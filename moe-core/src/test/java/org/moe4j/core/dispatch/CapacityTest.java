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
import org.moe4j.core.dispatch.Capacity.Rounding;
import org.moe4j.core.dispatch.RowLimit.OfShare;
import org.moe4j.core.preset.Preset;

class CapacityTest {
    @TempDir
    Path folder;

    private static int rows(Capacity capacity, int tokens, int experts, int topK) {
        return capacity.rowsPerExpert(tokens, tokens * topK, experts);
    }

    @Test
    void droplessTakesEveryToken() {
        assertThat(rows(Capacity.dropless(), 7, 4, 2)).isEqualTo(7);
    }

    @Test
    void factorRoundsUpTheMultipleOfTheEvenShare() {
        assertThat(rows(Capacity.factor(1.0), 8, 4, 2)).isEqualTo(4); // 8·2/4
        assertThat(rows(Capacity.factor(1.0), 7, 4, 2)).isEqualTo(4); // 3.5 up
        assertThat(rows(Capacity.factor(1.25), 8, 4, 2)).isEqualTo(5);
        // Megatron-Core computes ceil(100 / 10 · 1.1) = 11 in double, though 100 · 1.1 / 10 would round up to 12
        assertThat(rows(Capacity.factor(1.1), 50, 10, 2)).isEqualTo(11);
        assertThat(rows(Capacity.factor(0.01), 8, 4, 2)).isEqualTo(1);
    }

    @Test
    void factorRoundedDownIsMegaBlocks() {
        assertThat(rows(down(1.0), 8, 4, 2)).isEqualTo(4); // 8·2/4
        assertThat(rows(down(1.0), 7, 4, 2)).isEqualTo(3); // 3.5 down
        assertThat(rows(down(1.25), 10, 4, 2)).isEqualTo(6); // 6.25 down
        // the share first: int(1.4 · (30 / 7)) = int(5.999999999999999) = 5, though int(1.4 · 30 / 7) = 6
        assertThat(rows(down(1.4), 15, 7, 2)).isEqualTo(5);
        assertThat(rows(down(100), 8, 4, 2)).isEqualTo(8);
        assertThat(rows(down(1), 0, 4, 2)).isZero();
    }

    @Test
    void zeroRowsRoundedDownAreNoLimit() {
        Routing uneven = Routing.of(8, 1, new int[] {5, 1, 5, 5}, new double[4]);
        assertThat(rows(down(1), 4, 8, 1)).isEqualTo(4); // 4/8 down is 0
        assertThat(rows(down(2), 4, 8, 1)).isEqualTo(1); // twice the factor keeps less
        assertThat(rows(Capacity.factor(1), 4, 8, 1)).isEqualTo(1); // up there are never 0 rows for some tokens
        assertThat(DispatchPlan.of(uneven, down(1)).dropped()).isZero();
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
        assertThat(from("capacity.rows = 64", "capacity.scope = sequences", "capacity.unserved = passed-weighted"))
                .isEqualTo(Capacity.of(RowLimit.rows(64))
                        .withScope(CapacityScope.sequences())
                        .withUnserved(UnservedTokens.PASSED_WEIGHTED));
        assertThat(from("capacity.factor = 1.1", "capacity.order = weight")).isEqualTo(KnownCapacity.megatronCore(1.1));
        assertThat(from(
                        "capacity.factor = 1.2",
                        "capacity.rounding = down",
                        "capacity.multipleOf = 8",
                        "capacity.zeroRows = no-rows"))
                .isEqualTo(KnownCapacity.olmoCore(1.2));
        assertThat(from(
                        "capacity.factor = 2",
                        "capacity.share = tokens",
                        "capacity.rounding = down",
                        "capacity.minimum = 4",
                        "capacity.multipleOf = 4",
                        "capacity.scope = groups",
                        "capacity.groupSize = 512",
                        "capacity.order = choice",
                        "capacity.keptWeights = unit-sum"))
                .isEqualTo(KnownCapacity.gShard(2, 512).withKeptWeights(KeptWeights.UNIT_SUM));
        assertThat(from(
                        "capacity.factor = 1.05",
                        "capacity.share = assignments-factor-first",
                        "capacity.rounding = half-even",
                        "capacity.multipleOf = 4",
                        "capacity.zeroRows = refused",
                        "capacity.order = batch-priority"))
                .isEqualTo(Capacity.of(((OfShare) KnownCapacity.vMoe(1.05, 1).rows()).withRounding(Rounding.HALF_EVEN))
                        .withOrder(DropOrder.BATCH_PRIORITY));
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
                "capacity.factor = 1;capacity.rounding = off|capacity.rounding: expected one of [down, half-even, up] but was off",
                "capacity.rows = 0|capacity.rows: expected at least 1 but was 0",
                "capacity.rows = 4;capacity.factor = 1|capacity.factor: expected no such key beside capacity.rows but was 1",
                "capacity.rows = 4;capacity.minimum = 4|capacity.minimum: expected no such key beside capacity.rows but was 4",
                "capacity.factor = 1;capacity.minimum = 0|capacity.minimum: expected at least 1 but was 0",
                "capacity.factor = 1;capacity.multipleOf = 0|capacity.multipleOf: expected at least 1 but was 0",
                "capacity.factor = 1;capacity.minimum = 4;capacity.zeroRows = refused|capacity.zeroRows: expected no such key beside capacity.minimum, which leaves no 0 but was refused",
                "capacity.factor = 1;capacity.zeroRows = refused|capacity.zeroRows: expected no such key beside capacity.rounding = up, which gives no 0 but was refused",
                "capacity.factor = 1;capacity.groupSize = 8|capacity.groupSize: expected no such key beside capacity.scope = batch but was 8",
                "capacity.factor = 1;capacity.scope = groups|expected a value for capacity.groupSize but was absent",
                "capacity.factor = 1;capacity.scope = batches|capacity.scope: expected one of [batch, groups, sequences] but was batches",
                "capacity.factors = 1|expected a known key but was capacity.factors; did you mean capacity.factor?",
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

    /** Half of the smallest double is 0. */
    @Test
    void roundedUpIsNeverNoLimit() {
        RowLimit.OfShare smallest = RowLimit.factor(Double.MIN_VALUE);
        for (RowLimit.EvenShare share : RowLimit.EvenShare.values()) {
            assertThat(smallest.withShare(share).rowsPerExpert(10, 10, 1000)).isEqualTo(1);
        }
    }

    @Test
    void neverMoreThanAllTokens() {
        assertThat(rows(Capacity.factor(100), 8, 4, 2)).isEqualTo(8);
        assertThat(rows(Capacity.factor(1), 0, 4, 2)).isZero();
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
