package org.moe4j.core.nd4j;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.javacpp.Pointer;

/**
 * Native memory for matrices and scratch, from the C allocator, with a pool of freed blocks so that calls that repeat
 * neither touch fresh pages nor grow the process.
 *
 * <p>JavaCPP's own bookkeeping is bypassed on purpose: its limit on physical bytes would stop a program with large
 * weights and call the garbage collector on the way.
 *
 * <p>Whoever closes matrices needs nothing else. For those who do not, handles found by the garbage collector are
 * released too; since native bytes put no pressure on the heap, a collection is asked for each time the bytes in use
 * pass a mark. The mark starts at 1 GiB and is raised by a quarter whenever the last collection found little, so that
 * a program that really uses its memory asks only a few times in its life.
 */
final class NativeMemory {
    /** Freed bytes kept for the next call. */
    static final long RETAINED_BYTES = 256L << 20;

    private static final long FIRST_MARK = 1L << 30;
    private static final int ATTEMPTS = 5;
    private static final NativeMemory SHARED = new NativeMemory(RETAINED_BYTES, FIRST_MARK);

    private final long retainedLimit;
    private final Map<Long, ArrayDeque<NativeBlock>> free = new HashMap<>();
    private long retained;
    private final AtomicLong used = new AtomicLong();
    private final AtomicLong forgotten = new AtomicLong();
    private volatile long mark;
    private long forgottenAtMark;

    NativeMemory(long retainedLimit, long firstMark) {
        this.retainedLimit = retainedLimit;
        this.mark = firstMark;
    }

    static NativeMemory shared() {
        return SHARED;
    }

    /** Bytes in blocks that somebody holds. */
    long used() {
        return used.get();
    }

    /** Bytes in blocks that wait to be used again. */
    synchronized long retained() {
        return retained;
    }

    /** A block of at least the given size, at least 1 byte; its content may be anything unless it has to be zero. */
    NativeBlock allocate(long bytes, boolean zeros) {
        long size = sizeClass(bytes);
        if (used.addAndGet(size) > mark) {
            passMark();
        }
        NativeBlock block = pooled(size);
        if (block == null) {
            return NativeBlock.aligned(fresh(size + NativeBlock.ALIGNMENT, zeros), size);
        }
        if (zeros) {
            Pointer.memset(block.start(), 0, bytes);
        }
        return block;
    }

    /** At most an eighth more than asked for, so that blocks of similar size serve each other. */
    static long sizeClass(long bytes) {
        long step = Math.max(NativeBlock.ALIGNMENT, Long.highestOneBit(bytes) / 8);
        return (bytes + step - 1) / step * step;
    }

    private synchronized @org.jspecify.annotations.Nullable NativeBlock pooled(long size) {
        ArrayDeque<NativeBlock> blocks = free.get(size);
        NativeBlock block = blocks == null ? null : blocks.pollLast(); // the most recent is most likely still in cache
        if (block != null) {
            retained -= size;
        }
        return block;
    }

    private Pointer fresh(long bytes, boolean zeros) {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            Pointer memory = zeros ? Pointer.calloc(1, bytes) : Pointer.malloc(bytes);
            if (memory != null) {
                return memory;
            }
            releaseRetained();
            System.gc();
            pause();
        }
        used.addAndGet(-sizeClass(bytes - NativeBlock.ALIGNMENT));
        throw new OutOfMemoryError("native memory: no " + bytes + " bytes beside " + used + " in use");
    }

    private static void pause() {
        try {
            Thread.sleep(50); // time for the cleaner to release what the collector found
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void passMark() {
        synchronized (this) {
            long now = used.get();
            if (now <= mark) {
                return;
            }
            if (forgotten.get() - forgottenAtMark < mark / 4) {
                mark = now + now / 4;
            }
            forgottenAtMark = forgotten.get();
        }
        System.gc();
    }

    /** Takes a block back; {@code byCollector} says that nobody closed it. */
    void release(NativeBlock block, boolean byCollector) {
        used.addAndGet(-block.bytes());
        if (byCollector) {
            forgotten.addAndGet(block.bytes());
        }
        synchronized (this) {
            if (retained + block.bytes() <= retainedLimit) {
                free.computeIfAbsent(block.bytes(), size -> new ArrayDeque<>()).addLast(block);
                retained += block.bytes();
                return;
            }
        }
        Pointer.free(block.origin());
    }

    /** Gives the retained blocks back to the system. */
    void releaseRetained() {
        Map<Long, ArrayDeque<NativeBlock>> all;
        synchronized (this) {
            all = new HashMap<>(free);
            free.clear();
            retained = 0;
        }
        all.values().forEach(blocks -> blocks.forEach(block -> Pointer.free(block.origin())));
    }
}
