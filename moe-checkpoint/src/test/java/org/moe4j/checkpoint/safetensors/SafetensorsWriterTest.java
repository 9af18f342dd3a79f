package org.moe4j.checkpoint.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.core.backend.RowSource;

class SafetensorsWriterTest {
    @TempDir
    private Path folder;

    /** Element (i, j) is {@code (100·i + j)/8}, which even a bfloat16 holds for small numbers. */
    private static final RowSource ROWS = new RowSource() {
        @Override
        public void read(int row, float[] into) {
            for (int j = 0; j < into.length; j++) {
                into[j] = (100 * row + j) / 8f;
            }
        }

        @Override
        public void read(int row, double[] into) {
            for (int j = 0; j < into.length; j++) {
                into[j] = (100 * row + j) / 8.0;
            }
        }
    };

    private static TensorContent bytes(String name, ElementType type, int... values) {
        return new TensorContent(name, type, List.of((long) values.length), (from, count, into) -> {
            for (int i = 0; i < count; i++) {
                into.put((byte) values[(int) from + i]);
            }
        });
    }

    @Test
    void theFileIsLaidOutByTheFormat() throws IOException {
        Path file = folder.resolve("a.safetensors");
        TensorContent wide = TensorContent.of("wide", ElementType.F32, 1, 2, ROWS);
        SafetensorsWriter.write(file, List.of(bytes("b", ElementType.U8, 1, 2), wide), Map.of("k", "v"));
        ByteBuffer written = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        int length = Math.toIntExact(written.getLong());
        String header = new String(written.array(), 8, length, StandardCharsets.UTF_8);
        assertThat(header.stripTrailing())
                .isEqualTo("{\"__metadata__\":{\"k\":\"v\"},"
                        + "\"wide\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                        + "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[8,10]}}");
        assertThat(length % 8).isZero();
        written.position(8 + length);
        assertThat(written.getFloat()).isEqualTo(0);
        assertThat(written.getFloat()).isEqualTo(0.125f);
        assertThat(written.get()).isEqualTo((byte) 1);
        assertThat(written.get()).isEqualTo((byte) 2);
        assertThat(written.hasRemaining()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(names = {"F64", "F32", "F16", "BF16"})
    void rowsComeBack(ElementType type) throws IOException {
        Path file = folder.resolve("a.safetensors");
        int columns = 100;
        int rows = type == ElementType.BF16 ? 2 : type == ElementType.F16 ? 20 : 700; // longer than a buffer
        SafetensorsWriter.write(file, List.of(TensorContent.of("a", type, rows, columns, ROWS)), Map.of());
        double[] expected = new double[rows * columns];
        Arrays.setAll(expected, i -> i / 8.0);
        try (SafetensorsFile opened = SafetensorsFile.open(file)) {
            assertThat(opened.info("a").toString()).isEqualTo("a " + type + " [" + rows + ", " + columns + "]");
            double[] read = new double[expected.length];
            opened.tensor("a").read(0, read, 0, read.length);
            assertThat(read).containsExactly(expected);
        }
    }

    @Test
    void aTensorOfAnotherFileIsCopiedBitForBit() throws IOException {
        Path first = folder.resolve("a.safetensors");
        Path second = folder.resolve("b.safetensors");
        int[] all = new int[70_000];
        Arrays.setAll(all, i -> i * 7);
        SafetensorsWriter.write(first, List.of(bytes("a", ElementType.F8_E4M3, all)), Map.of());
        try (SafetensorsFile opened = SafetensorsFile.open(first)) {
            SafetensorsWriter.write(second, List.of(TensorContent.of(opened.tensor("a"))), Map.of());
        }
        assertThat(second).hasSameBinaryContentAs(first);
    }

    @Test
    void aFailureLeavesTheOldFileAndNothingElse() throws IOException {
        Path file = Files.writeString(folder.resolve("a.safetensors"), "old");
        TensorContent broken = new TensorContent("a", ElementType.U8, List.of(3L), (from, count, into) -> {
            throw new UncheckedIOException(new IOException("no more"));
        });
        assertThatThrownBy(() -> SafetensorsWriter.write(file, List.of(broken), Map.of()))
                .isInstanceOf(UncheckedIOException.class);
        assertThat(file).hasContent("old");
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(file);
        }
    }

    @Test
    void whatCannotBeWrittenIsRefused() {
        TensorContent a = bytes("a", ElementType.U8, 1);
        assertThatThrownBy(() -> SafetensorsWriter.write(folder.resolve("x"), List.of(a, a), Map.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("tensors: expected tensors of different names but was a twice");
        assertThatThrownBy(() -> bytes("__metadata__", ElementType.U8, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("name: expected a name of a tensor but was \"__metadata__\"");
        assertThatThrownBy(() -> new TensorContent("a", ElementType.U8, List.of(-1L), (from, count, into) -> {}))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("shape: expected sizes of at least 0 but was [-1]");
        assertThatThrownBy(() -> TensorContent.of("a", ElementType.I8, 1, 1, ROWS))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("type: expected one of [F64, F32, F16, BF16] but was I8");
    }

    @Test
    void sourcesRefuseWhatTheyDoNotHaveAndTooLittleRoom() {
        TensorContent.Source rows =
                TensorContent.of("a", ElementType.F64, 2, 3, ROWS).source();
        ByteBuffer room = ByteBuffer.allocate(40);
        assertThatThrownBy(() -> rows.write(0, 6, room))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("into: expected room for 6 numbers of F64, 48 bytes but was 40");
        assertThatThrownBy(() -> rows.write(Long.MIN_VALUE, 1, room))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("from: expected an index of a number but was -");
        assertThatThrownBy(() -> rows.write(1L << 62, 1, room))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("from: expected numbers of rows of 3 but was 4611686018427387904");
        assertThat(room.position()).isZero();
        TensorContent narrow = new TensorContent("a", ElementType.F16, List.of(6L), rows);
        assertThatThrownBy(() -> SafetensorsWriter.write(folder.resolve("x"), List.of(narrow), Map.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("into: expected room for 6 numbers of F64, 48 bytes but was 12");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aPlaceThatNoFileHasIsNotMapped() throws IOException {
        Path file = Files.write(folder.resolve("x"), new byte[16]);
        TensorInfo info = new TensorInfo("a", ElementType.F32, List.of(2L), 0, 8);
        try (FileChannel channel = FileChannel.open(file)) {
            assertThatThrownBy(() -> StoredTensor.map(file, channel, info, -1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("dataBegin: expected a place in a file but was -1");
            assertThatThrownBy(() -> StoredTensor.map(file, channel, info, Long.MAX_VALUE - 7))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("dataBegin: expected a place in a file but was 9");
        }
    }
}
