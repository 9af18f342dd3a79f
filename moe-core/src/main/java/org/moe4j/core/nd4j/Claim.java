package org.moe4j.core.nd4j;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.concurrent.atomic.AtomicBoolean;

/** One hold of an object's owner, let go exactly once: by closing, or by the cleaner when the owner was forgotten. */
final class Claim implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    private final Release release;
    private final Cleaner.Cleanable cleanable;

    private Claim(Release release, Cleaner.Cleanable cleanable) {
        this.release = release;
        this.cleanable = cleanable;
    }

    /**
     * Takes over one hold on {@code held}, for as long as {@code owner} is reachable or until it is closed. Without room for the claim
     * the hold is let go.
     */
    static Claim of(Object owner, Held held) {
        Release release = null;
        try {
            release = new Release(held);
            return new Claim(release, CLEANER.register(owner, release));
        } catch (OutOfMemoryError full) {
            if (release == null) {
                held.release(false);
            } else {
                release.letGo(false); // the cleaner may know it already
            }
            throw full;
        }
    }

    /** Holds it once more, for the caller; {@code what} names the owner if it is closed. */
    void retain(Object owner, String what) {
        try {
            if (release.done.get() || !release.held.retain()) {
                throw new IllegalStateException(what + ": expected an open " + what + " but was closed");
            }
        } finally {
            Reference.reachabilityFence(owner); // or the cleaner might let go before it is held again
        }
    }

    @Override
    public void close() {
        release.letGo(false);
        cleanable.clean();
    }

    /** Must not know the owner, or the owner would stay reachable. */
    private record Release(Held held, AtomicBoolean done) implements Runnable {
        Release(Held held) {
            this(held, new AtomicBoolean());
        }

        void letGo(boolean byCollector) {
            if (done.compareAndSet(false, true)) {
                held.release(byCollector);
            }
        }

        @Override
        public void run() {
            letGo(true);
        }
    }
}
