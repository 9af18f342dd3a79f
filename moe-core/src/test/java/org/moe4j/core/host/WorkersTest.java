package org.moe4j.core.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;

class WorkersTest {
    private static final long LARGE = Workers.SMALL;

    @Test
    void eachTaskRunsOnce() {
        for (int threads : new int[] {1, 2, 4, 9}) {
            for (int tasks : new int[] {0, 1, 2, 1000}) {
                AtomicIntegerArray runs = new AtomicIntegerArray(tasks);
                new Workers(threads).forEach(tasks, LARGE, runs::incrementAndGet);
                for (int i = 0; i < tasks; i++) {
                    assertThat(runs.get(i)).isEqualTo(1);
                }
            }
        }
    }

    @Test
    void smallWorkStaysOnTheCallersThread() {
        Set<Thread> threads = ConcurrentHashMap.newKeySet();
        new Workers(4).forEach(100, LARGE - 1, i -> threads.add(Thread.currentThread()));
        assertThat(threads).containsExactly(Thread.currentThread());
    }

    @Test
    void helpersReallyTakePart() throws Exception {
        CountDownLatch both = new CountDownLatch(2);
        new Workers(2).forEach(2, LARGE, i -> {
            both.countDown();
            await(both);
        });
        assertThat(both.await(0, TimeUnit.SECONDS)).isTrue();
    }

    /** What cannot be had, a further thread, costs speed only: all tasks are done when the call returns. */
    @Test
    void helpersThatCannotBeStartedAreDoneWithout() {
        AtomicLong invited = new AtomicLong();
        Workers workers = new Workers(4, job -> {
            if (invited.incrementAndGet() > 1) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            new Thread(job).start();
        });
        for (int round = 0; round < 100; round++) {
            invited.set(0);
            AtomicIntegerArray runs = new AtomicIntegerArray(50);
            workers.forEach(50, LARGE, runs::incrementAndGet);
            for (int i = 0; i < 50; i++) {
                assertThat(runs.get(i)).isEqualTo(1);
            }
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    @Test
    void nestedAndConcurrentCallsFinish() {
        AtomicLong sum = new AtomicLong();
        Workers workers = new Workers(3);
        Assertions.assertTimeoutPreemptively(Duration.ofSeconds(60), () -> {
            ExecutorService callers = Executors.newFixedThreadPool(8);
            for (int c = 0; c < 8; c++) {
                callers.execute(() ->
                        workers.forEach(20, LARGE, i -> workers.forEach(20, LARGE, j -> sum.addAndGet(i * 20L + j))));
            }
            callers.shutdown();
            assertThat(callers.awaitTermination(50, TimeUnit.SECONDS)).isTrue();
        });
        assertThat(sum.get()).isEqualTo(8L * 400 * 399 / 2);
    }

    @Test
    void failuresReachTheCaller() {
        Workers workers = new Workers(2);
        assertThatThrownBy(() -> workers.forEach(100, LARGE, i -> {
                    throw new IllegalArgumentException("task");
                }))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("task");
        assertThatThrownBy(() -> workers.forEach(100, LARGE, i -> {
                    throw new StackOverflowError("task");
                }))
                .isInstanceOf(StackOverflowError.class);
        eachTaskRunsOnce(); // and the workers are still there
    }

    @Test
    void anInterruptIsKeptForTheCaller() {
        Thread.currentThread().interrupt();
        CountDownLatch started = new CountDownLatch(1);
        Thread caller = Thread.currentThread();
        new Workers(2).forEach(2, LARGE, i -> {
            if (Thread.currentThread() != caller) {
                sleep();
            }
            started.countDown();
        });
        assertThat(Thread.interrupted()).isTrue();
    }

    private static void sleep() {
        try {
            Thread.sleep(50);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }
}
