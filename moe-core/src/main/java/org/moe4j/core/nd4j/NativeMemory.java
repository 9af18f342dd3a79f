package org.moe4j.core.nd4j;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;

/**
 * Native memory for matrices and scratch, from the C allocator, with a pool of freed blocks so that calls that repeat
 * neither touch fresh pages nor grow the process.
 *
 * <p>The pool keeps up to 256 MiB; beyond that only as much as the program itself has recently used and given back, so
 * that used and retained memory together never exceed its own peak by more. The peak is forgotten slowly.
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
    /** Freed bytes kept for the next call, whatever the program has used. */
    static final long RETAINED_BYTES = 256L << 20;

    private static final long FIRST_MARK = 1L << 30;
    private static final long PEAK_LIFE = 1 << 14; // allocations
    private static final int ATTEMPTS = 5;
    private static final NativeMemory SHARED = new NativeMemory(RETAINED_BYTES, FIRST_MARK);

    private final long retainedLimit;
    private final Map<Long, ArrayDeque<NativeBlock>> free = new HashMap<>();
    private long used;
    private long peak;
    private long retained;
    private long mark;
    private long forgotten;
    private long forgottenAtMark;

    NativeMemory(long retainedLimit, long firstMark) {
        this.retainedLimit = retainedLimit;
        this.mark = firstMark;
    }

    static NativeMemory shared() {
        return SHARED;
    }

    /** Bytes in blocks that somebody holds. */
    synchronized long used() {
        return used;
    }

    /** Bytes in blocks that wait to be used again. */
    synchronized long retained() {
        return retained;
    }

    /** At most an eighth more than asked for, so that blocks of similar size serve each other. */
    static long sizeClass(long bytes) {
        long step = Math.max(NativeBlock.ALIGNMENT, Long.highestOneBit(bytes) / 8);
        return (bytes + step - 1) / step * step;
    }

    /** A block of at least the given size, at least 1 byte; its content may be anything unless it has to be zero. */
    NativeBlock allocate(long bytes, boolean zeros) {
        if (bytes < 0) {
            throw new IllegalArgumentException("bytes: expected at least 0 but was " + bytes);
        }
        long size = sizeClass(bytes);
        NativeBlock block;
        boolean collect;
        List<NativeBlock> surplus;
        synchronized (this) {
            ArrayDeque<NativeBlock> blocks = free.get(size);
            block = blocks == null ? null : blocks.pollLast(); // the most recent is most likely still in cache
            retained -= block == null ? 0 : size;
            used += size;
            peak = Math.max(used, peak - (peak - used) / PEAK_LIFE);
            surplus = surplus();
            collect = used > mark && passMark();
        }
        free(surplus);
        if (collect) {
            System.gc();
        }
        if (block == null) {
            return NativeBlock.aligned(fresh(size, zeros), size);
        }
        if (zeros) {
            Pointer.memset(block.start(), 0, bytes);
        }
        return block;
    }

    /** Whether to ask for a collection. */
    private boolean passMark() {
        if (forgotten - forgottenAtMark < mark / 4) {
            mark = used + used / 4;
        }
        forgottenAtMark = forgotten;
        return true;
    }

    /** Takes blocks out of the pool until it holds no more than it may. */
    private List<NativeBlock> surplus() {
        long limit = Math.max(retainedLimit, peak - used);
        List<NativeBlock> surplus = new ArrayList<>();
        for (Iterator<ArrayDeque<NativeBlock>> sizes = free.values().iterator();
                retained > limit && sizes.hasNext(); ) {
            ArrayDeque<NativeBlock> blocks = sizes.next();
            while (retained > limit && !blocks.isEmpty()) {
                NativeBlock block = blocks.removeFirst();
                retained -= block.bytes();
                surplus.add(block);
            }
            if (blocks.isEmpty()) {
                sizes.remove();
            }
        }
        return surplus;
    }

    private static void free(List<NativeBlock> blocks) {
        blocks.forEach(block -> Pointer.free(block.origin()));
    }

    private Pointer fresh(long size, boolean zeros) {
        long bytes = size + NativeBlock.ALIGNMENT;
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            Pointer memory = zeros ? Pointer.calloc(1, bytes) : Pointer.malloc(bytes);
            if (memory != null) {
                return memory;
            }
            releaseRetained();
            System.gc();
            pause();
        }
        synchronized (this) {
            used -= size;
            throw new OutOfMemoryError("native memory: no " + bytes + " bytes beside " + used + " in use");
        }
    }

    private static void pause() {
        try {
            Thread.sleep(50); // time for the cleaner to release what the collector found
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Takes a block back; {@code byCollector} says that nobody closed it. */
    void release(NativeBlock block, boolean byCollector) {
        List<NativeBlock> surplus;
        synchronized (this) {
            used -= block.bytes();
            forgotten += byCollector ? block.bytes() : 0;
            free.computeIfAbsent(block.bytes(), size -> new ArrayDeque<>()).addLast(block);
            retained += block.bytes();
            surplus = surplus();
        }
        free(surplus);
    }

    /** Gives the retained blocks back to the system. */
    void releaseRetained() {
        List<NativeBlock> all = new ArrayList<>();
        synchronized (this) {
            free.values().forEach(all::addAll);
            free.clear();
            retained = 0;
            peak = used;
        }
        free(all);
    }
}
