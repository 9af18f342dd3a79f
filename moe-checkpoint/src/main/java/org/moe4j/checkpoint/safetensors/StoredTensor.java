package org.moe4j.checkpoint.safetensors;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Objects;
import org.moe4j.core.internal.Require;

/** The numbers of one tensor in a mapped file, converted while they are read. It may be read by several threads at once. */
public final class StoredTensor {
    /** A map may not be longer than an array; a power of two holds whole numbers of every type. */
    private static final long SEGMENT = 1L << 30;

    private final Path file;
    private final TensorInfo info;
    private final ByteBuffer[] segments;

    private StoredTensor(Path file, TensorInfo info, ByteBuffer[] segments) {
        this.file = file;
        this.info = info;
        this.segments = segments;
    }

    /**
     * Maps numbers of a file whose header, of whatever format, says where they stand. They are read from the disk when they are
     * asked for.
     *
     * @param file for messages
     * @param channel of the file, as long as the numbers need it; may be closed afterwards
     * @param info type, shape and place of the numbers
     * @param dataBegin byte of the file from which {@code info} counts
     * @return valid as long as the file is not changed
     * @throws IllegalArgumentException for a {@code dataBegin} before the file, or so large that no file is as long
     * @throws IOException when the file cannot be mapped
     */
    public static StoredTensor map(Path file, FileChannel channel, TensorInfo info, long dataBegin) throws IOException {
        if (dataBegin < 0 || dataBegin > Long.MAX_VALUE - info.end()) {
            throw Require.expected("dataBegin", "a place in a file", dataBegin);
        }
        long bytes = info.end() - info.begin();
        ByteBuffer[] segments = new ByteBuffer[Math.toIntExact((bytes + SEGMENT - 1) / SEGMENT)];
        for (int i = 0; i < segments.length; i++) {
            long from = i * SEGMENT;
            segments[i] = channel.map(
                            FileChannel.MapMode.READ_ONLY,
                            dataBegin + info.begin() + from,
                            Math.min(SEGMENT, bytes - from))
                    .order(ByteOrder.LITTLE_ENDIAN);
        }
        return new StoredTensor(file, info, segments);
    }

    /**
     * Name, type and shape.
     *
     * @return as in the header
     */
    public TensorInfo info() {
        return info;
    }

    /**
     * Reads numbers that follow one another, rounded to the nearest where {@code float} is narrower.
     *
     * @param from index of the first, in row-major order
     * @param into gets them
     * @param at index in {@code into} of the first
     * @param count how many
     * @return true if all of them are known to be finite; numbers of 8 bits never are
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public boolean read(long from, float[] into, int at, int count) {
        Objects.checkFromIndexSize(at, count, into.length);
        return forEachSegment(
                from, count, (bytes, done, part) -> Elements.read(info.type(), bytes, into, at + done, part));
    }

    /**
     * Reads numbers that follow one another; all types but I64 fit exactly.
     *
     * @param from index of the first, in row-major order
     * @param into gets them
     * @param at index in {@code into} of the first
     * @param count how many
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public void read(long from, double[] into, int at, int count) {
        Objects.checkFromIndexSize(at, count, into.length);
        forEachSegment(from, count, (bytes, done, part) -> {
            Elements.read(info.type(), bytes, into, at + done, part);
            return true;
        });
    }

    /**
     * Reads whole numbers that follow one another; those of I64 beyond {@code int} become the nearest, and BOOL its byte.
     *
     * @param from index of the first, in row-major order
     * @param into gets them
     * @param at index in {@code into} of the first
     * @param count how many
     * @throws IllegalArgumentException for a floating-point type
     */
    public void read(long from, int[] into, int at, int count) {
        Objects.checkFromIndexSize(at, count, into.length);
        forEachSegment(from, count, (bytes, done, part) -> {
            Integers.read(info.type(), bytes, into, at + done, part);
            return true;
        });
    }

    /**
     * Copies bytes as they are stored.
     *
     * @param from index of the first number, in row-major order
     * @param into gets them
     * @param count how many numbers
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public void readBytes(long from, byte[] into, int count) {
        int size = info.type().bytes();
        Objects.checkFromIndexSize(from, (long) count, info.elements());
        Objects.checkFromIndexSize(0L, (long) count * size, into.length);
        forEachSegment(from, count, (bytes, done, part) -> {
            bytes.get(into, done * size, part * size);
            return true;
        });
    }

    private interface Part {
        /** Takes {@code count} numbers from where the bytes stand, of which {@code done} were taken before; says whether all is well. */
        boolean take(ByteBuffer bytes, int done, int count);
    }

    private boolean forEachSegment(long from, int count, Part part) {
        Objects.checkFromIndexSize(from, (long) count, info.elements());
        int size = info.type().bytes();
        boolean well = true;
        int done = 0;
        while (done < count) {
            long at = (from + done) * size;
            ByteBuffer segment = segments[(int) (at / SEGMENT)];
            ByteBuffer bytes =
                    segment.duplicate().order(ByteOrder.LITTLE_ENDIAN).position((int) (at % SEGMENT));
            int here = Math.min(count - done, bytes.remaining() / size);
            try {
                well &= part.take(bytes, done, here);
            } catch (InternalError e) { // what the JVM makes of a page that is no longer in the file
                throw new UncheckedIOException(new IOException(
                        file + ": " + info.name() + ": expected a file that stays as it is but was cut off while it was"
                                + " read; do not write to a file while it is read",
                        e));
            }
            done += here;
        }
        return well;
    }

    @Override
    public String toString() {
        return file + ": " + info;
    }
}
