package org.moe4j.core.nd4j;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;

/**
 * A piece of native memory with every view that the kernels need, made once and reused with the memory.
 *
 * <p>An NIO buffer ends at 2 GiB, so a large block is seen through several; offsets are {@code long} everywhere.
 */
final class NativeBlock {
    /** Bytes of one NIO view, as a power of two; small enough that a view of either precision has {@code int} indices. */
    static final int SEGMENT_SHIFT = 30;

    /** Start of a block lies on a cache line, where vector loads do not straddle two. */
    static final int ALIGNMENT = 64;

    private final Pointer origin; // as the allocator returned it
    private final long bytes;
    private final int segmentShift;
    private final Pointer start;
    private final long address;
    private final FloatBuffer[] floats;
    private final DoubleBuffer[] doubles;

    /** The next one in a chain of blocks that nobody holds; for {@link NativeMemory}. */
    @Nullable
    NativeBlock below;

    private NativeBlock(Pointer origin, Pointer start, long bytes, int segmentShift) {
        this.origin = origin;
        this.start = start;
        this.address = start.address();
        this.bytes = bytes;
        this.segmentShift = segmentShift;
        int segments = Math.toIntExact((bytes + (1L << segmentShift) - 1) >>> segmentShift);
        floats = new FloatBuffer[segments];
        doubles = new DoubleBuffer[segments];
        for (int s = 0; s < segments; s++) {
            long from = (long) s << segmentShift;
            ByteBuffer view = start.getPointer(BytePointer.class, from)
                    .capacity(Math.min(bytes - from, 1L << segmentShift))
                    .asByteBuffer()
                    .order(ByteOrder.nativeOrder());
            floats[s] = view.asFloatBuffer();
            doubles[s] = view.asDoubleBuffer();
        }
    }

    /** A block inside {@code bytes + ALIGNMENT} bytes that an allocator returned. */
    static NativeBlock aligned(Pointer origin, long bytes) {
        return aligned(origin, bytes, SEGMENT_SHIFT);
    }

    static NativeBlock aligned(Pointer origin, long bytes, int segmentShift) {
        long padding = -origin.address() & (ALIGNMENT - 1);
        return new NativeBlock(origin, origin.getPointer(BytePointer.class, padding), bytes, segmentShift);
    }

    /** A block of somebody else's memory. */
    static NativeBlock foreign(Pointer start, long bytes) {
        return new NativeBlock(start, start, bytes, SEGMENT_SHIFT);
    }

    long bytes() {
        return bytes;
    }

    /** What has to be given back to the allocator. */
    Pointer origin() {
        return origin;
    }

    /** The first byte. */
    Pointer start() {
        return start;
    }

    /** Address of an element of the given size. */
    long address(long element, int bytes) {
        return address + element * bytes;
    }

    void read(long at, float[] into, int from, int count) {
        int shift = segmentShift - 2;
        for (int done = 0; done < count; ) {
            int index = (int) ((at + done) & ((1L << shift) - 1));
            int part = Math.min(count - done, (1 << shift) - index);
            floats[(int) ((at + done) >>> shift)].get(index, into, from + done, part);
            done += part;
        }
    }

    void write(long at, float[] values, int from, int count) {
        int shift = segmentShift - 2;
        for (int done = 0; done < count; ) {
            int index = (int) ((at + done) & ((1L << shift) - 1));
            int part = Math.min(count - done, (1 << shift) - index);
            floats[(int) ((at + done) >>> shift)].put(index, values, from + done, part);
            done += part;
        }
    }

    void read(long at, double[] into, int from, int count) {
        int shift = segmentShift - 3;
        for (int done = 0; done < count; ) {
            int index = (int) ((at + done) & ((1L << shift) - 1));
            int part = Math.min(count - done, (1 << shift) - index);
            doubles[(int) ((at + done) >>> shift)].get(index, into, from + done, part);
            done += part;
        }
    }

    void write(long at, double[] values, int from, int count) {
        int shift = segmentShift - 3;
        for (int done = 0; done < count; ) {
            int index = (int) ((at + done) & ((1L << shift) - 1));
            int part = Math.min(count - done, (1 << shift) - index);
            doubles[(int) ((at + done) >>> shift)].put(index, values, from + done, part);
            done += part;
        }
    }
}
