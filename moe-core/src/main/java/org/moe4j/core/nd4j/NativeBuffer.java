package org.moe4j.core.nd4j;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A native block that lives as long as somebody holds it. The maker holds it once; a kernel holds its arguments for the
 * time of the call, so that neither a close in another thread nor the garbage collector can take memory from under it.
 */
final class NativeBuffer implements Held {
    private final @Nullable NativeBlock block; // null where there is no element, hence nothing to read
    private final Consumer<Boolean> whenUnused;
    private final AtomicInteger holders = new AtomicInteger(1);

    private NativeBuffer(@Nullable NativeBlock block, Consumer<Boolean> whenUnused) {
        this.block = block;
        this.whenUnused = whenUnused;
    }

    /** Memory from the pool; no native call for no bytes. */
    static NativeBuffer allocate(long bytes, boolean zeros) {
        if (bytes == 0) {
            return new NativeBuffer(null, byCollector -> {});
        }
        NativeMemory memory = NativeMemory.shared();
        NativeBlock block = memory.allocate(bytes, zeros);
        try {
            return new NativeBuffer(block, byCollector -> memory.release(block, byCollector));
        } catch (OutOfMemoryError full) {
            memory.release(block, false);
            throw full;
        }
    }

    /** Somebody else's memory, whose owner stays reachable as long as this does. */
    static NativeBuffer foreign(NativeBlock block, Object owner) {
        return new NativeBuffer(block, byCollector -> Objects.requireNonNull(owner));
    }

    NativeBlock block() {
        if (block == null) {
            throw new IllegalStateException("matrix: expected elements but was empty");
        }
        return block;
    }

    @Override
    public boolean retain() {
        for (int now = holders.get(); now > 0; now = holders.get()) {
            if (holders.compareAndSet(now, now + 1)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public void release(boolean byCollector) {
        if (holders.decrementAndGet() == 0) {
            whenUnused.accept(byCollector);
        }
    }
}
