package org.moe4j.checkpoint.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.core.testing.Promise;

/** Whole numbers as they are read from files, many at once, and their bytes as they are written. */
class IntegersTest {
    private static final int COUNT = 10_000; // more than two pieces, and no multiple of one
    private static final int ELEMENTS = 3 * 50_021;
    private static final List<ElementType> TYPES = List.of(
            ElementType.I64,
            ElementType.I32,
            ElementType.I16,
            ElementType.I8,
            ElementType.U8,
            ElementType.U16,
            ElementType.U32,
            ElementType.U64,
            ElementType.BOOL);

    @TempDir
    private Path folder;

    @ParameterizedTest
    @EnumSource(names = {"I64", "I32", "I16", "I8", "U8", "U16", "U32", "U64", "BOOL"})
    void everyNumberIsWhatItsBytesSay(ElementType type) {
        byte[] stored = new byte[1 + COUNT * type.bytes()];
        new Random(7).nextBytes(stored);
        for (int from : new int[] {0, 1, COUNT - 1, COUNT}) {
            int[] read = new int[COUNT - from + 2];
            ByteBuffer bytes = ByteBuffer.wrap(stored).order(ByteOrder.LITTLE_ENDIAN);
            Integers.read(type, bytes.position(1 + from * type.bytes()), read, 1, COUNT - from);
            assertThat(read[0]).isZero();
            assertThat(read[COUNT - from + 1]).isZero();
            for (int i = 0; i < COUNT - from; i++) {
                assertThat(read[1 + i]).isEqualTo(defined(type, stored, 1 + (from + i) * type.bytes()));
            }
        }
    }

    /** The sum of the bytes by their places, the last of which counts negative where there is a sign. */
    private static int defined(ElementType type, byte[] stored, int at) {
        BigInteger value = number(type, stored, at);
        return value.min(BigInteger.valueOf(Integer.MAX_VALUE))
                .max(BigInteger.valueOf(Integer.MIN_VALUE))
                .intValueExact();
    }

    private static BigInteger number(ElementType type, byte[] stored, int at) {
        byte[] bigEndian = new byte[type.bytes()];
        for (int i = 0; i < bigEndian.length; i++) {
            bigEndian[i] = stored[at + bigEndian.length - 1 - i];
        }
        return type.name().startsWith("I") ? new BigInteger(bigEndian) : new BigInteger(1, bigEndian);
    }

    /** The nearest of all numbers of the type, ties to even, as of {@code BigInteger}. */
    @ParameterizedTest
    @EnumSource(names = {"I64", "I32", "I16", "I8", "U8", "U16", "U32", "U64"})
    void numbersAreRoundedOnce(ElementType type) {
        byte[] stored = new byte[COUNT * type.bytes()];
        new Random(8).nextBytes(stored);
        double[] wide = new double[COUNT];
        float[] narrow = new float[COUNT];
        ByteBuffer bytes = ByteBuffer.wrap(stored).order(ByteOrder.LITTLE_ENDIAN);
        Elements.read(type, bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN), wide, 0, COUNT);
        assertThat(Elements.read(type, bytes, narrow, 0, COUNT)).isTrue();
        for (int i = 0; i < COUNT; i++) {
            BigInteger number = number(type, stored, i * type.bytes());
            assertThat(wide[i]).isEqualTo(number.doubleValue());
            assertThat(narrow[i]).isEqualTo(number.floatValue());
        }
    }

    /** Tensors of more bytes than are written at once, of any bytes: as they were, and again in a copy of the file. */
    @Test
    void bytesOfEveryTypeAreWrittenAndReadAsTheyAre() throws IOException {
        Random random = new Random(9);
        Map<String, byte[]> given = new LinkedHashMap<>();
        List<TensorContent> tensors = new ArrayList<>();
        for (ElementType type : TYPES) {
            byte[] bytes = new byte[ELEMENTS * type.bytes()];
            random.nextBytes(bytes);
            given.put(type.name(), bytes);
            tensors.add(new TensorContent(
                    type.name(),
                    type,
                    List.of(3L, ELEMENTS / 3L),
                    (from, count, into) -> into.put(bytes, (int) from * type.bytes(), count * type.bytes())));
        }
        Path first = folder.resolve("first.safetensors");
        Path copy = folder.resolve("copy.safetensors");
        SafetensorsWriter.write(first, tensors, Map.of());
        try (SafetensorsFile file = SafetensorsFile.open(first)) {
            List<TensorContent> read = new ArrayList<>();
            for (String name : given.keySet()) {
                read.add(TensorContent.of(file.tensor(name)));
            }
            SafetensorsWriter.write(copy, read, Map.of());
        }
        for (Path path : List.of(first, copy)) {
            try (SafetensorsFile file = SafetensorsFile.open(path)) {
                for (Map.Entry<String, byte[]> tensor : given.entrySet()) {
                    byte[] read = new byte[tensor.getValue().length];
                    file.tensor(tensor.getKey()).readBytes(0, read, ELEMENTS);
                    assertThat(read).as("%s in %s", tensor.getKey(), path).isEqualTo(tensor.getValue());
                }
            }
        }
        Promise.measured(
                18,
                "integers",
                "0 of %d elements of each of %d types changed in a file and its copy"
                        .formatted(ELEMENTS, TYPES.size()));
    }

    @Test
    void longsThatIntHoldsStayAsTheyAre() {
        ByteBuffer bytes = ByteBuffer.allocate(4 * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.putLong(63).putLong(-1).putLong(1L << 31).putLong(-(1L << 40)).flip();
        int[] read = new int[4];
        Integers.read(ElementType.I64, bytes, read, 0, 4);
        assertThat(read).containsExactly(63, -1, Integer.MAX_VALUE, Integer.MIN_VALUE);
    }

    @Test
    void floatsAreRefused() {
        assertThatThrownBy(() -> Integers.read(ElementType.F32, ByteBuffer.allocate(4), new int[1], 0, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("type: expected a type of whole numbers but was F32");
    }
}
