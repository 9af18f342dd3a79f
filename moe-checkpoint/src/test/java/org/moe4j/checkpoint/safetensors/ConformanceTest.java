package org.moe4j.checkpoint.safetensors;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.core.testing.Promise;

/** Files are those of the reference implementation, byte for byte, and come back byte for byte. */
class ConformanceTest {
    private static final int MOST_SIZES = 5;

    @TempDir
    private Path folder;

    private static TensorContent content(String name, ElementType type, List<Long> shape, byte[] bytes) {
        return new TensorContent(
                name,
                type,
                shape,
                (from, count, into) -> into.put(bytes, (int) from * type.bytes(), count * type.bytes()));
    }

    private byte[] written(List<TensorContent> tensors, Map<String, String> metadata) throws IOException {
        Path file = folder.resolve("written.safetensors");
        SafetensorsWriter.write(file, tensors, metadata);
        return Files.readAllBytes(file);
    }

    /** The bytes that the tests of the reference implementation, huggingface/safetensors, {@code tensor.rs}, expect. */
    @Test
    void theFilesOfTheReferenceAreWritten() throws IOException {
        ByteBuffer floats = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < 6; i++) {
            floats.putFloat(i);
        }
        byte[] one =
                written(List.of(content("attn.0", ElementType.F32, List.of(1L, 2L, 3L), floats.array())), Map.of());
        String header = "{\"attn.0\":{\"dtype\":\"F32\",\"shape\":[1,2,3],\"data_offsets\":[0,24]}}";
        byte[] expected = new byte[8 + 64 + 24];
        expected[0] = 64;
        System.arraycopy(header.getBytes(UTF_8), 0, expected, 8, 64);
        for (int i = 0; i < 6; i++) {
            int[] upper = {0, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0}; // 0, 1, 2, 3, 4, 5
            expected[8 + 64 + 4 * i + 2] = (byte) upper[i];
            expected[8 + 64 + 4 * i + 3] = (byte) (upper[i] >> 8);
        }
        assertThat(one).isEqualTo(expected);
        assertThat(written(List.of(), Map.of())).isEqualTo("\10\0\0\0\0\0\0\0{}      ".getBytes(UTF_8));
    }

    /** Of every type and of 0 to 5 sizes; the expected bytes are put together here, by the rules of the format. */
    @Test
    void everyTypeAndRankComesBackByteForByte() throws IOException {
        SplittableRandom random = new SplittableRandom(17);
        List<TensorContent> tensors = new ArrayList<>();
        List<byte[]> bytes = new ArrayList<>();
        for (ElementType type : ElementType.values()) {
            for (int rank = 0; rank <= MOST_SIZES; rank++) {
                List<Long> shape =
                        random.longs(rank, rank == 3 ? 0 : 1, 4).boxed().toList();
                long elements = shape.stream().reduce(1L, (a, b) -> a * b);
                byte[] own = new byte[(int) elements * type.bytes()];
                random.nextBytes(own);
                tensors.add(content("t" + type + rank, type, shape, own));
                bytes.add(own);
            }
        }
        byte[] file = written(tensors, Map.of("format", "pt"));
        assertThat(file).isEqualTo(expected(tensors, bytes));
        List<TensorContent> again = new ArrayList<>();
        try (SafetensorsFile opened = SafetensorsFile.open(folder.resolve("written.safetensors"))) {
            for (int i = 0; i < tensors.size(); i++) {
                StoredTensor tensor = opened.tensor(tensors.get(i).name());
                byte[] read = new byte[bytes.get(i).length];
                tensor.readBytes(0, read, (int) tensor.info().elements());
                assertThat(read).isEqualTo(bytes.get(i));
                assertThat(tensor.info().shape()).isEqualTo(tensors.get(i).shape());
                again.add(TensorContent.of(tensor));
            }
            Path copy = folder.resolve("copy.safetensors");
            SafetensorsWriter.write(copy, again, opened.metadata());
            assertThat(Files.readAllBytes(copy)).isEqualTo(file);
        }
        Promise.measured(
                17,
                "types and ranks",
                "0 bytes differ in %d tensors of %d types and 0 to %d sizes, nor in the 2 files of the reference"
                        .formatted(tensors.size(), ElementType.values().length, MOST_SIZES));
    }

    /** Wide numbers first, then by name; the header padded with blanks to a multiple of 8. */
    private static byte[] expected(List<TensorContent> tensors, List<byte[]> bytes) {
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < tensors.size(); i++) {
            order.add(i);
        }
        order.sort(Comparator.comparingInt((Integer i) -> -tensors.get(i).type().bytes())
                .thenComparing(i -> tensors.get(i).name()));
        StringBuilder header = new StringBuilder("{\"__metadata__\":{\"format\":\"pt\"}");
        int at = 0;
        for (int i : order) {
            TensorContent tensor = tensors.get(i);
            int end = at + bytes.get(i).length;
            header.append(",\"")
                    .append(tensor.name())
                    .append("\":{\"dtype\":\"")
                    .append(tensor.type());
            header.append("\",\"shape\":").append(tensor.shape().toString().replace(" ", ""));
            header.append(",\"data_offsets\":[")
                    .append(at)
                    .append(',')
                    .append(end)
                    .append("]}");
            at = end;
        }
        header.append('}');
        header.append(" ".repeat((8 - header.length() % 8) % 8));
        ByteBuffer all = ByteBuffer.allocate(8 + header.length() + at).order(ByteOrder.LITTLE_ENDIAN);
        all.putLong(header.length()).put(header.toString().getBytes(UTF_8));
        order.forEach(i -> all.put(bytes.get(i)));
        return Arrays.copyOf(all.array(), all.position());
    }
}
