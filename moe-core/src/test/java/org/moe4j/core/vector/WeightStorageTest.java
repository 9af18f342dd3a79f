package org.moe4j.core.vector;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Bank;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.BankPass;
import org.moe4j.core.backend.BankWeights;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.host.Workers;

/** Weights that fit 16 bits are kept there, and nobody can tell but by the memory. */
class WeightStorageTest {
    private static final int EXPERTS = 3;
    private static final int HIDDEN = 70;
    private static final int INTERMEDIATE = 150;

    /** With {@code bits} of the mantissa and an exponent near 0: a bfloat16 has 8 bits, a binary16 has 11, single precision 24. */
    private static float[] numbers(SplittableRandom random, int count, int bits) {
        float[] numbers = new float[count];
        for (int i = 0; i < count; i++) {
            int mantissa = random.nextInt(1 << (bits - 1), 1 << bits);
            numbers[i] = Math.scalb((random.nextBoolean() ? 1f : -1f) * mantissa, -bits - random.nextInt(1, 5));
        }
        numbers[0] = -0f;
        return numbers;
    }

    private static BankWeights weights(VectorBackend backend, Activation activation, int bits) {
        SplittableRandom random = new SplittableRandom(bits);
        Map<BankPart, List<Matrix>> parts = new EnumMap<>(BankPart.class);
        for (BankPart part : BankPart.of(activation, true)) {
            int rows = part.rows(HIDDEN, INTERMEDIATE);
            int columns = part.columns(HIDDEN, INTERMEDIATE);
            for (int e = 0; e < EXPERTS; e++) {
                parts.computeIfAbsent(part, absent -> new ArrayList<>())
                        .add(backend.matrix(rows, columns, numbers(random, rows * columns, bits)));
            }
        }
        return new BankWeights(activation, parts);
    }

    private static List<double[]> run(WeightStorage storage, Activation activation, int bits, int... sizes) {
        VectorBackend backend = VectorBackend.float32().withStorage(storage);
        RowGroups groups = RowGroups.ofSizes(sizes);
        int[] rows = IntStream.range(0, groups.rows()).toArray();
        SplittableRandom random = new SplittableRandom(7);
        try (Matrix tokens = backend.matrix(rows.length, HIDDEN, numbers(random, rows.length * HIDDEN, 24));
                Matrix d = backend.matrix(rows.length, HIDDEN, numbers(random, rows.length * HIDDEN, 24));
                Bank bank = backend.prepare(weights(backend, activation, bits));
                BankPass pass = bank.forward(tokens, rows, groups);
                BankPass.BankGradients gradients = pass.backward(d);
                Matrix applied = bank.apply(tokens, rows, groups)) {
            List<double[]> all = new ArrayList<>();
            all.add(pass.output().toArray());
            all.add(applied.toArray());
            all.add(gradients.input().toArray());
            gradients.parts().values().forEach(part -> part.forEach(matrix -> all.add(matrix.toArray())));
            for (BankPart part : BankPart.of(activation, true)) {
                for (int e = 0; e < EXPERTS; e++) {
                    all.add(bank.weight(part, e).toArray());
                }
            }
            return all;
        }
    }

    private static void assertSame(Activation activation, int bits, int... sizes) {
        List<double[]> narrow = run(WeightStorage.EXACT, activation, bits, sizes);
        List<double[]> full = run(WeightStorage.FULL, activation, bits, sizes);
        assertThat(narrow).hasSameSizeAs(full);
        for (int i = 0; i < full.size(); i++) {
            assertThat(narrow.get(i)).as("result " + i).isEqualTo(full.get(i));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 11, 24})
    void theStorageDoesNotChangeABit(int bits) {
        assertSame(new Activation.SwiGlu(), bits, 1, 0, 2);
        assertSame(new Activation.SwiGlu(), bits, 3, 8, 21);
        assertSame(new Activation.ReluSquared(), bits, 5, 1, 4);
    }

    private static Panels<float[]> panels(int bits, WeightStorage storage) {
        VectorBackend backend = VectorBackend.float32().withStorage(storage);
        BankWeights weights = weights(backend, new Activation.Relu(), bits);
        PackedBank.Packer<float[]> packer = Packing.packer(FloatNumbers.INSTANCE, weights, storage);
        return new PackedBank<>(FloatNumbers.INSTANCE, weights, packer, new Workers(2)).inner(0);
    }

    @Test
    void sixteenBitsAreTakenWhereTheyAreEnough() {
        assertThat(panels(8, WeightStorage.EXACT)).isInstanceOf(HalfPanels.class);
        assertThat(panels(11, WeightStorage.EXACT)).isInstanceOf(HalfPanels.class);
        assertThat(panels(12, WeightStorage.EXACT)).isInstanceOf(PlainPanels.class);
        assertThat(panels(8, WeightStorage.FULL)).isInstanceOf(PlainPanels.class);
    }

    @Test
    void everyNumberOfSixteenBitsIsToldAndGivenBack() {
        for (int bits = 0; bits < 1 << 16; bits++) {
            float brain = Float.intBitsToFloat(bits << 16);
            assertThat(Halves.isBfloat16(brain)).isTrue();
            assertThat(Halves.toBfloat16(brain)).isEqualTo((short) bits);
            if ((bits & 0x7c00) != 0x7c00) {
                int exponent = (bits >> 10) & 31;
                double magnitude = exponent == 0
                        ? Math.scalb((double) (bits & 1023), -24)
                        : Math.scalb((bits & 1023) + 1024.0, exponent - 25);
                float half = (float) (bits < 1 << 15 ? magnitude : -magnitude);
                assertThat(Halves.isFloat16(half)).isTrue();
                assertThat(Halves.toFloat16(half)).isEqualTo((short) bits);
                assertThat(Float.floatToRawIntBits(Halves.float16((short) bits)))
                        .isEqualTo(Float.floatToRawIntBits(half));
            }
        }
        for (float no : new float[] {65536, 0x1p-25f, 1 + 0x1p-11f, Float.NaN, Float.POSITIVE_INFINITY}) {
            assertThat(Halves.isFloat16(no)).isFalse();
        }
        assertThat(Halves.isBfloat16(1 + 0x1p-8f)).isFalse();
    }
}
