package org.moe4j.router.analysis.bill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.math.BigInteger;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.analysis.bill.Roofline.Bound;
import org.moe4j.router.analysis.bill.Roofline.Load;

/** Numbers of OLMoE-1B-7B as LLM Architecture Refresh 5 prints them, and sizes multiplied out. */
class BillTest {
    private static final LayerBill OLMOE = LayerBill.of(2048, 1024, 64, 8);

    @Nested
    class Layers {
        /** §§1, 2 and 5, and the appendix. */
        @Test
        void olmoeHasThePrintedNumbers() {
            assertThat(OLMOE.expertParameters()).isEqualTo(6_291_456);
            assertThat(OLMOE.routerParameters()).isEqualTo(131_072);
            assertThat(OLMOE.stored()).isEqualTo(268_435_456L + 134_217_728 + 131_072);
            assertThat(OLMOE.active()).isEqualTo(50_331_648 + 131_072);
            assertThat(OLMOE.stored() + 16_777_216 + 4_096 + 4_096)
                    .as("with attention and norms")
                    .isEqualTo(419_569_664);
            assertThat(OLMOE.widthUsed()).isEqualTo(8192);
            assertThat(OLMOE.widthHeld()).isEqualTo(65_536);
            assertThat(OLMOE.widthUsed() / 2048.0).isEqualTo(4.00);
            assertThat(OLMOE.widthHeld() / 2048.0).isEqualTo(32.00);
            assertThat(OLMOE.capacityOverCompute()).isEqualTo(8);
            assertThat(OLMOE.expertArithmetic(64)).isEqualTo(8);
            assertThat(OLMOE.withTopK(64).active()).isEqualTo(OLMOE.stored());
            assertThat(OLMOE.flopsPerToken()).isEqualTo(2 * OLMOE.active());
        }

        /** Everything that a layer can have, multiplied out. */
        @Test
        void everyPartIsCounted() {
            ExpertShape routed = new ExpertShape(6, 5, 7, new Activation.SwiGlu(), true);
            ExpertShape shared = new ExpertShape(1, 11, 3, new Activation.SwiGlu(), false);
            LayerBill layer = new LayerBill(11, routed, 2, List.of(shared, shared), 1);
            long expert = 3 * 5 * 7 + 2 * 7 + 5;
            assertThat(layer.expertParameters()).isEqualTo(expert);
            assertThat(layer.routerParameters()).isEqualTo(6 * 11 + 6);
            long always = 6 * 11 + 6 + 2 * (3 * 11 * 3) + 2 * 5 * 11;
            assertThat(layer.stored()).isEqualTo(always + 6 * expert);
            assertThat(layer.active()).isEqualTo(always + 2 * expert);
            assertThat(layer.flopsPerToken())
                    .isEqualTo(2 * 6 * 11 + 2 * (2 * 3 * 5 * 7 + 2 * 7 + 5) + 2 * 2 * 5 * 11 + 2 * (2 * 3 * 11 * 3));
            assertThat(layer.widthUsed()).isEqualTo(2 * 7 + 6);
            assertThat(layer.widthHeld()).isEqualTo(6 * 7 + 6);
            assertThat(layer.capacityOverCompute()).isEqualTo(48.0 / 20);
        }

        @Test
        void aPresetGivesItsLayer() {
            LayerBill olmoe = LayerBill.of(Preset.named("olmoe-1b-7b"));
            assertThat(olmoe).isEqualTo(OLMOE);
        }

        @Test
        void sizesAreChecked() {
            assertThatThrownBy(() -> OLMOE.withTopK(65)).hasMessage("topK: expected 1..64 (experts) but was 65");
            assertThatThrownBy(() -> OLMOE.withTopK(0)).hasMessageStartingWith("topK");
            assertThatThrownBy(() -> LayerBill.of(0, 1, 1, 1)).hasMessageStartingWith("hiddenSize");
            assertThatThrownBy(() -> new LayerBill(1, OLMOE.routed(), 1, List.of(), -1))
                    .hasMessageStartingWith("routerBiases");
        }
    }

    /** §2 and §5: bytes of all parameters, of the router, and of all else. */
    @ParameterizedTest
    @CsvSource({
        "6919161856, BITS16, 13838323712, 12.89",
        "6919161856, FLOAT32, 27676647424, 25.8",
        "6917064704, BITS16, 13834129408, 12.88"
    })
    void bytesAreThePrintedOnes(long numbers, NumberType type, long bytes, double gibibytes) {
        assertThat(type.bytes(numbers)).isEqualTo(bytes);
        assertThat(bytes / 0x1p30).isCloseTo(gibibytes, within(gibibytes == 25.8 ? 0.05 : 0.005));
    }

    @Test
    void bytesOfNarrowNumbersAreRoundedUp() {
        assertThat(NumberType.BITS4.bytes(0)).isZero();
        assertThat(NumberType.BITS4.bytes(3)).isEqualTo(2);
        assertThat(NumberType.BITS8.bytes(3)).isEqualTo(3);
        assertThat(NumberType.FLOAT64.bytes(3)).isEqualTo(24);
        assertThat(NumberType.BITS16.bytes(2_097_152)).isEqualTo(4 << 20);
        assertThatThrownBy(() -> NumberType.BITS4.bytes(-1)).hasMessage("numbers: expected at least 0 but was -1");
        assertThatThrownBy(() -> NumberType.FLOAT64.bytes(1L << 60))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("numbers: expected a product below 2^63 but was ");
    }

    @Nested
    class Choices {
        /** The table of §1. */
        @Test
        void narrowerExpertsAtEqualBudgetMakeMoreSets() {
            List<ExpertChoices> table = new ExpertChoices(64, 8, 1024).atEqualBudget();
            assertThat(table)
                    .containsExactly(
                            new ExpertChoices(8, 1, 8192),
                            new ExpertChoices(16, 2, 4096),
                            new ExpertChoices(32, 4, 2048),
                            new ExpertChoices(64, 8, 1024));
            assertThat(table)
                    .extracting(ExpertChoices::sets)
                    .containsExactly(
                            BigInteger.valueOf(8),
                            BigInteger.valueOf(120),
                            BigInteger.valueOf(35_960),
                            BigInteger.valueOf(4_426_165_368L));
        }

        /** Pascal's triangle. */
        @Test
        void setsAreBinomials() {
            BigInteger[][] rows = new BigInteger[301][];
            for (int n = 0; n <= 300; n++) {
                rows[n] = new BigInteger[n + 1];
                for (int k = 0; k <= n; k++) {
                    rows[n][k] = k == 0 || k == n ? BigInteger.ONE : rows[n - 1][k - 1].add(rows[n - 1][k]);
                }
            }
            for (int n : new int[] {1, 2, 7, 128, 300}) {
                for (int k = 0; k <= n; k++) {
                    assertThat(new ExpertChoices(n, k, 1).sets()).isEqualTo(rows[n][k]);
                }
            }
        }

        @Test
        void edgesHaveASet() {
            assertThat(new ExpertChoices(5, 0, 1).atEqualBudget()).containsExactly(new ExpertChoices(5, 0, 1));
            assertThat(new ExpertChoices(6, 4, 10).atEqualBudget())
                    .containsExactly(new ExpertChoices(3, 2, 20), new ExpertChoices(6, 4, 10));
            assertThatThrownBy(() -> new ExpertChoices(2, 3, 1)).hasMessage("topK: expected 0..2 (experts) but was 3");
            assertThatThrownBy(() -> new ExpertChoices(0, 0, 1)).hasMessageStartingWith("experts");
            assertThatThrownBy(() -> new ExpertChoices(1, 1, 0)).hasMessageStartingWith("width");
        }
    }

    @Nested
    class Rooflines {
        private static final Roofline MACHINE = new Roofline(100e9, 20e9);

        /** One token of OLMoE in 16 bits: 2 operations for each of its numbers, of 2 bytes each. */
        @Test
        void oneTokenIsBoundByMemory() {
            Load one = Load.ofIndependentUniform(OLMOE, 1, NumberType.BITS16, NumberType.BITS16);
            assertThat(one.distinctExperts()).isCloseTo(8, within(1e-12));
            assertThat(one.flops()).isEqualTo(2.0 * 50_462_720);
            assertThat(one.weightBytes()).isCloseTo(2.0 * 50_462_720, within(1e-6));
            assertThat(one.activationBytes()).isEqualTo(2 * 2048 * 2);
            assertThat(one.intensity()).isCloseTo(1, within(1e-4)).isLessThan(1);
            assertThat(MACHINE.ridge()).isEqualTo(5);
            assertThat(MACHINE.bound(one)).isEqualTo(Bound.MEMORY);
            assertThat(MACHINE.memorySeconds(one)).isCloseTo(2 * 50_462_720 / 20e9, within(1e-6));
            assertThat(MACHINE.arithmeticSeconds(one)).isEqualTo(2 * 50_462_720 / 100e9);
            assertThat(MACHINE.seconds(one)).isEqualTo(MACHINE.memorySeconds(one));
        }

        /** 256 tokens read nearly every expert once and use each for 32 tokens. */
        @Test
        void manyTokensAreBoundByArithmetic() {
            Load many = Load.of(OLMOE, 256, 60.9, NumberType.BITS16, NumberType.FLOAT32);
            assertThat(many.weightBytes()).isCloseTo(2 * (131_072 + 60.9 * 6_291_456), within(1e-3));
            assertThat(many.activationBytes()).isEqualTo(2.0 * 256 * 2048 * 4);
            assertThat(many.bytes()).isEqualTo(many.weightBytes() + many.activationBytes());
            assertThat(many.intensity()).isCloseTo(256 * 2.0 * 50_462_720 / many.bytes(), within(1e-9));
            assertThat(MACHINE.bound(many)).isEqualTo(Bound.ARITHMETIC);
            assertThat(MACHINE.seconds(many)).isEqualTo(256 * 2.0 * 50_462_720 / 100e9);
            Load uniform = Load.ofIndependentUniform(OLMOE, 8, NumberType.BITS16, NumberType.BITS16);
            assertThat(uniform.distinctExperts()).isCloseTo(64 * (1 - Math.pow(0.875, 8)), within(1e-12));
        }

        @Test
        void noTokensAskForNothing() {
            Load none = Load.ofIndependentUniform(OLMOE, 0, NumberType.BITS8, NumberType.BITS16);
            assertThat(none.bytes()).isZero();
            assertThat(none.intensity()).isZero();
            assertThat(MACHINE.seconds(none)).isZero();
            assertThat(MACHINE.bound(none)).isEqualTo(Bound.MEMORY);
        }

        @Test
        void ratesAndLoadsAreChecked() {
            assertThatThrownBy(() -> new Roofline(0, 1))
                    .hasMessage("flopsPerSecond: expected a finite number above 0 but was 0.0");
            assertThatThrownBy(() -> new Roofline(1, Double.NaN)).hasMessageStartingWith("bytesPerSecond");
            assertThatThrownBy(() -> Load.of(OLMOE, -1, 1, NumberType.BITS8, NumberType.BITS8))
                    .hasMessage("tokens: expected at least 0 but was -1");
            assertThatThrownBy(() -> Load.of(OLMOE, 1, 64.5, NumberType.BITS8, NumberType.BITS8))
                    .hasMessage("distinctExperts: expected 0..64 (experts) but was 64.5");
        }
    }
}
