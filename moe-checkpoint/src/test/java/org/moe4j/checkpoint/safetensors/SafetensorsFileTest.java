package org.moe4j.checkpoint.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.checkpoint.safetensors.RawFile.entry;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SafetensorsFileTest {
    @TempDir
    private Path folder;

    private Path file(String header, ByteBuffer data) throws IOException {
        byte[] bytes = RawFile.bytes(header, data.capacity());
        data.get(0, bytes, bytes.length - data.capacity(), data.capacity());
        return RawFile.write(folder, bytes);
    }

    @Test
    void aClosedFileIsRefused() throws IOException {
        SafetensorsFile file =
                SafetensorsFile.open(file("{" + entry("a", "U8", "1", 0, 1) + "}", ByteBuffer.allocate(1)));
        file.close();
        file.close();
        assertThatThrownBy(() -> file.tensor("a"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage(file.path() + ": expected an open file but it is closed");
    }

    /** Numbers of every type whose values are known, unaligned because a byte stands before them. */
    @Test
    void numbersOfEveryTypeAreRead() throws IOException {
        ByteBuffer data = ByteBuffer.allocate(1 + 16 + 8 + 4 + 4 + 2 + 2 + 16 + 8 + 4 + 2 + 2 + 4 + 8 + 16 + 2)
                .order(ByteOrder.LITTLE_ENDIAN);
        data.put((byte) 7);
        data.putDouble(Math.PI).putDouble(-0.0);
        data.putFloat(1.5f).putFloat(Float.MIN_VALUE);
        data.putShort((short) 0x3c01).putShort((short) 0xfbff); // 1 + 2^-10, −65504
        data.putShort((short) 0x3f80).putShort((short) 0xc0a0); // 1, −5
        data.put((byte) 0x38).put((byte) 0x01); // 1, 2^-9
        data.put((byte) 0x3c).put((byte) 0x01); // 1, 2^-16
        data.putLong(Long.MIN_VALUE).putLong((1L << 24) + 1);
        data.putInt(-3).putInt(Integer.MAX_VALUE);
        data.putShort((short) -4).putShort((short) 5);
        data.put((byte) -6).put((byte) 7);
        data.put((byte) -6).put((byte) 7);
        data.putShort((short) -4).putShort((short) 5);
        data.putInt(-3).putInt(6);
        data.putLong(-1).putLong(7);
        data.put((byte) 0).put((byte) 1);
        StringBuilder header = new StringBuilder("{" + entry("first", "U8", "1", 0, 1));
        long at = 1;
        for (ElementType type : ElementType.values()) {
            header.append(',').append(entry(type.name(), type.name(), "2", at, at + 2L * type.bytes()));
            at += 2L * type.bytes();
        }
        try (SafetensorsFile file = SafetensorsFile.open(file(header + "}", data))) {
            assertRead(file, ElementType.F64, Math.PI, -0.0);
            assertRead(file, ElementType.F32, 1.5, Float.MIN_VALUE);
            assertRead(file, ElementType.F16, 1 + 1 / 1024.0, -65504);
            assertRead(file, ElementType.BF16, 1, -5);
            assertRead(file, ElementType.F8_E4M3, 1, 1 / 512.0);
            assertRead(file, ElementType.F8_E5M2, 1, 1 / 65536.0);
            assertRead(file, ElementType.I64, Long.MIN_VALUE, (1L << 24) + 1);
            assertRead(file, ElementType.I32, -3, Integer.MAX_VALUE);
            assertRead(file, ElementType.I16, -4, 5);
            assertRead(file, ElementType.I8, -6, 7);
            assertRead(file, ElementType.U8, 250, 7);
            assertRead(file, ElementType.U16, 65532, 5);
            assertRead(file, ElementType.U32, 4294967293.0, 6);
            assertRead(file, ElementType.U64, 0x1p64, 7);
            assertRead(file, ElementType.BOOL, 0, 1);
        }
    }

    private static void assertRead(SafetensorsFile file, ElementType type, double first, double second)
            throws IOException {
        StoredTensor tensor = file.tensor(type.name());
        double[] doubles = new double[4];
        tensor.read(0, doubles, 1, 2);
        assertThat(doubles).containsExactly(0, first, second, 0);
        float[] floats = new float[2];
        tensor.read(0, floats, 0, 2);
        assertThat(floats).containsExactly((float) first, (float) second);
        tensor.read(1, floats, 0, 1);
        assertThat(floats[0]).isEqualTo((float) second);
    }

    @Test
    void longNumbersAreRoundedOnce() throws IOException {
        long value = (1L << 54) + (1L << 30) + 1; // as a double it loses its last bit and becomes a tie
        ByteBuffer data = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(value);
        try (SafetensorsFile file = SafetensorsFile.open(file("{" + entry("a", "I64", "1", 0, 8) + "}", data))) {
            float[] read = new float[1];
            file.tensor("a").read(0, read, 0, 1);
            assertThat(read[0]).isEqualTo((float) ((1L << 54) + (1L << 31)));
        }
    }

    @Test
    void aTensorBeyondTwoGibibytesIsReadAcrossItsMaps() throws IOException {
        long elements = (5L << 30) / 2; // BF16: five maps of 2^30 bytes
        byte[] header = ("{" + entry("a", "BF16", Long.toString(elements), 0, 2 * elements) + "}")
                .getBytes(StandardCharsets.UTF_8);
        Path file = folder.resolve("sparse.safetensors");
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.SPARSE)) {
            channel.write(ByteBuffer.wrap(RawFile.bytes(header.length, header, 0)));
            put(channel, header.length, (1L << 29) - 1, 0x3f80); // 1, the last of the first map
            put(channel, header.length, 1L << 29, 0x4000); // 2, the first of the second
            put(channel, header.length, elements - 1, 0x4040); // 3
        }
        try (SafetensorsFile opened = SafetensorsFile.open(file)) {
            StoredTensor tensor = opened.tensor("a");
            float[] read = new float[4];
            tensor.read((1L << 29) - 2, read, 0, 4);
            assertThat(read).containsExactly(0, 1, 2, 0);
            tensor.read(elements - 2, read, 0, 2);
            assertThat(read).containsExactly(0, 3, 2, 0);
            assertThatThrownBy(() -> tensor.read(elements - 1, read, 0, 2))
                    .isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    private static void put(FileChannel channel, int headerLength, long index, int bits) throws IOException {
        ByteBuffer number =
                ByteBuffer.allocate(2).order(ByteOrder.LITTLE_ENDIAN).putShort((short) bits);
        channel.write(number.flip(), 8 + headerLength + 2 * index);
    }

    @Test
    void anUnknownTensorIsRefusedWithTheClosestName() throws IOException {
        String header = "{" + entry("model.norm.weight", "F32", "2", 0, 8) + "}";
        Path path = RawFile.write(folder, RawFile.bytes(header, 8));
        try (SafetensorsFile file = SafetensorsFile.open(path)) {
            assertThatThrownBy(() -> file.tensor("model.norm.wieght"))
                    .isInstanceOf(NoSuchElementException.class)
                    .hasMessage(path + ": expected a tensor of this file but was model.norm.wieght;"
                            + " did you mean model.norm.weight?");
        }
    }

    @Test
    void aFileThatIsCutOffMeanwhileIsAnErrorBeforeItsTensorIsRead() throws IOException {
        String header = "{" + entry("a", "F32", "2", 0, 8) + "}";
        Path path = RawFile.write(folder, RawFile.bytes(header, 8));
        try (SafetensorsFile file = SafetensorsFile.open(path)) {
            Files.write(path, new byte[3]);
            assertThatThrownBy(() -> file.tensor("a"))
                    .isInstanceOf(IOException.class)
                    .hasMessageStartingWith(path + ": expected a file that stays ");
        }
    }

    @Test
    void aFileThatIsNotThereIsSaidSo() {
        assertThatThrownBy(() -> SafetensorsFile.open(folder.resolve("none"))).isInstanceOf(NoSuchFileException.class);
    }
}
