package org.moe4j.core.nd4j;

import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.jspecify.annotations.Nullable;

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
 * <p>When the Java heap is full in the middle of a call, no block is lost: what cannot be kept is given back at once.
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
    private final Map<Long, Bin> free = new HashMap<>();
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
        NativeBlock surplus;
        boolean collect;
        synchronized (this) {
            Bin bin = free.get(size);
            block = bin == null ? null : bin.pop(); // the most recent is most likely still in cache
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
            return added(size, zeros);
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

    /** Takes blocks out of the pool until it holds no more than it may, and chains them. */
    private @Nullable NativeBlock surplus() {
        long limit = Math.max(retainedLimit, peak - used);
        NativeBlock surplus = null;
        try {
            for (Iterator<Bin> bins = free.values().iterator(); retained > limit && bins.hasNext(); ) {
                Bin bin = bins.next();
                for (NativeBlock block = bin.pop(); block != null; block = retained > limit ? bin.pop() : null) {
                    retained -= block.bytes();
                    block.below = surplus;
                    surplus = block;
                }
            }
        } catch (OutOfMemoryError full) {
            return surplus; // the rest another time
        }
        return surplus;
    }

    private static void free(@Nullable NativeBlock chain) {
        for (NativeBlock block = chain; block != null; block = block.below) {
            Pointer.free(block.origin());
        }
    }

    /** A block from the allocator; nothing is kept when there is no room for it, or none in the Java heap for its views. */
    private NativeBlock added(long size, boolean zeros) {
        Pointer memory = null;
        try {
            memory = fresh(size, zeros);
            return NativeBlock.aligned(memory, size);
        } catch (OutOfMemoryError full) {
            if (memory != null) {
                Pointer.free(memory);
            }
            synchronized (this) {
                used -= size;
            }
            throw full;
        }
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
        throw new OutOfMemoryError("native memory: no " + bytes + " bytes beside " + (used() - size) + " in use");
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
        NativeBlock surplus;
        boolean kept;
        synchronized (this) {
            used -= block.bytes();
            forgotten += byCollector ? block.bytes() : 0;
            kept = keep(block);
            surplus = surplus();
        }
        free(surplus);
        if (!kept) {
            Pointer.free(block.origin());
        }
    }

    /** A place in the pool, if the Java heap has room for one. */
    private boolean keep(NativeBlock block) {
        try {
            free.computeIfAbsent(block.bytes(), size -> new Bin()).push(block);
        } catch (OutOfMemoryError full) {
            return false;
        }
        retained += block.bytes();
        return true;
    }

    /** Gives the retained blocks back to the system. */
    void releaseRetained() {
        List<Bin> all;
        synchronized (this) {
            all = List.copyOf(free.values());
            free.clear();
            retained = 0;
            peak = used;
        }
        all.forEach(bin -> free(bin.top));
    }

    /** Blocks of one size that wait to be used again, chained, so that keeping one needs no memory. */
    private static final class Bin {
        private @Nullable NativeBlock top;

        void push(NativeBlock block) {
            block.below = top;
            top = block;
        }

        @Nullable
        NativeBlock pop() {
            NativeBlock block = top;
            if (block != null) {
                top = block.below;
                block.below = null;
            }
            return block;
        }
    }
}
