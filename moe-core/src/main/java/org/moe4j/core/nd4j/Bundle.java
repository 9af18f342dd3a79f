package org.moe4j.core.nd4j;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Several things that are held and let go together. */
final class Bundle implements Held {
    private final List<? extends Held> members;
    private final AtomicInteger holders = new AtomicInteger(1);

    /** Takes over one hold on each member. */
    Bundle(List<? extends Held> members) {
        this.members = List.copyOf(members);
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
            for (int i = 0; i < members.size(); i++) { // without an iterator: the Java heap may be full
                members.get(i).release(byCollector);
            }
        }
    }
}
