package org.moe4j.core.host;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs independent tasks on the caller's thread and a few helpers. All instances share one pool of daemon threads; an
 * instance only says how many threads one call may use.
 *
 * <p>The caller takes tasks like any helper and waits only for tasks that a thread has begun, so that nested calls and
 * many callers at once cannot block each other. Which thread runs a task must not matter to its result.
 *
 * <p>A helper without work looks for more for a millisecond before it sleeps: long enough for the next phase of a layer
 * and for the layer's next call. Waking one takes as long as a small layer; and a virtual machine's system may wake it on
 * the processor of its caller, taking the other one, halted, for busy, so that for milliseconds both share one. While it
 * looks it yields, so that whoever else wants the processor gets it.
 */
public final class Workers {
    /** Estimated nanoseconds below which waking a helper costs more than it brings. */
    public static final long SMALL = 100_000;

    private static final long CALLER_SPINS = 200_000; // nanoseconds: a task or two of the last helper
    private static final long HELPER_SPINS = 1_000_000;
    private static final int SPINS_PER_YIELD = 16;
    private static final ThreadPoolExecutor POOL = pool();

    private final int threads;
    private final Executor pool;

    /**
     * Workers whose helpers come from anywhere.
     *
     * @param threads of one call, the caller's among them
     * @param pool runs what helpers do, or refuses it
     */
    public Workers(int threads, Executor pool) {
        this.threads = threads;
        this.pool = pool;
    }

    /**
     * Workers whose helpers come from the one pool.
     *
     * @param threads of one call, the caller's among them
     */
    public Workers(int threads) {
        this(threads, POOL);
        synchronized (POOL) {
            if (POOL.getCorePoolSize() < threads - 1) {
                POOL.setMaximumPoolSize(threads - 1);
                POOL.setCorePoolSize(threads - 1);
            }
        }
    }

    private static ThreadPoolExecutor pool() {
        AtomicInteger number = new AtomicInteger();
        ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 30, TimeUnit.SECONDS, new Invitations(), task -> {
            Thread thread = new Thread(task, "moe4j-worker-" + number.incrementAndGet());
            thread.setDaemon(true);
            thread.setContextClassLoader(null);
            return thread;
        });
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    /**
     * How many threads a call may use.
     *
     * @return at least 1
     */
    public int threads() {
        return threads;
    }

    /**
     * Runs {@code task} for 0 … tasks − 1 in any order, and returns when all are done.
     *
     * @param tasks how many
     * @param estimatedNanos of all of them on one thread
     * @param task is told its index
     */
    public void forEach(int tasks, long estimatedNanos, IntConsumer task) {
        int helpers = estimatedNanos < SMALL ? 0 : Math.min(threads, tasks) - 1;
        if (helpers <= 0) {
            for (int i = 0; i < tasks; i++) {
                task.accept(i);
            }
            return;
        }
        Job job = new Job(tasks, task);
        invite(helpers, job);
        job.run();
        job.await();
    }

    /** A helper that cannot be had, as when no further thread can be started, costs speed only. */
    private void invite(int helpers, Job job) {
        try {
            for (int h = 0; h < helpers; h++) {
                pool.execute(job);
            }
        } catch (RejectedExecutionException | OutOfMemoryError fewer) {
            // whoever came takes part; the caller does the rest
        }
    }

    /** Spins until something is there or so much time has passed. */
    @SuppressWarnings("ThreadPriorityCheck") // a courtesy to others; nothing relies on it
    private static void spin(long nanos, BooleanSupplier there) {
        long end = System.nanoTime() + nanos;
        for (int i = 1; !there.getAsBoolean() && System.nanoTime() - end < 0; i++) {
            if (i % SPINS_PER_YIELD == 0) {
                Thread.yield();
            } else {
                Thread.onSpinWait();
            }
        }
    }

    /** What helpers take jobs from. */
    private static final class Invitations extends LinkedBlockingQueue<Runnable> {
        private static final long serialVersionUID = 1;

        @Override
        public @Nullable Runnable poll(long timeout, TimeUnit unit) throws InterruptedException {
            spin(HELPER_SPINS, () -> !isEmpty());
            return super.poll(timeout, unit);
        }
    }

    private static final class Job implements Runnable {
        private final int tasks;
        private final IntConsumer task;
        private final AtomicInteger next = new AtomicInteger();
        private final AtomicInteger open;
        private final CountDownLatch done = new CountDownLatch(1);
        private final BooleanSupplier finished; // made before the first task begins: later the Java heap may be full
        private volatile @Nullable Throwable failure;

        Job(int tasks, IntConsumer task) {
            this.tasks = tasks;
            this.task = task;
            open = new AtomicInteger(tasks);
            finished = () -> open.get() == 0;
        }

        @Override
        public void run() {
            for (int i = next.getAndIncrement(); i < tasks; i = next.getAndIncrement()) {
                try {
                    if (failure == null) {
                        task.accept(i);
                    }
                } catch (Throwable thrown) {
                    failure = thrown;
                } finally {
                    if (open.decrementAndGet() == 0) {
                        done.countDown();
                    }
                }
            }
        }

        void await() {
            spin(CALLER_SPINS, finished);
            boolean interrupted = false;
            while (open.get() > 0) {
                try {
                    done.await();
                } catch (InterruptedException later) {
                    interrupted = true;
                } catch (OutOfMemoryError full) {
                    // no room to wait in the latch, while tasks still use the caller's memory
                    Thread.onSpinWait();
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
            rethrow();
        }

        private void rethrow() {
            Throwable thrown = failure;
            if (thrown instanceof Error error) {
                throw error;
            }
            if (thrown instanceof RuntimeException exception) {
                throw exception;
            }
        }
    }
}
