package org.moe4j.core.nd4j;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.ndarray.INDArray;

/** An ND4J array that is closed when nobody holds it any longer; nothing at all where there are no elements. */
final class DeviceBuffer implements Held {
    private final @Nullable INDArray array;
    private final AtomicInteger holders = new AtomicInteger(1);
    private volatile boolean owned;

    DeviceBuffer(@Nullable INDArray array, boolean owned) {
        this.array = array;
        this.owned = owned;
    }

    INDArray array() {
        if (array == null) {
            throw new IllegalStateException("matrix: expected elements but was empty");
        }
        return array;
    }

    /** From now on somebody outside may use the array: ND4J frees it when it is forgotten. */
    INDArray giveAway() {
        owned = false;
        return array();
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
        if (holders.decrementAndGet() == 0 && owned && array != null && array.closeable()) {
            array.close();
        }
    }
}
