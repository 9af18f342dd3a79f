package org.moe4j.bench.timing;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * Measures calls in turn, so that what else the machine does meets all of them: one, another, the first again.
 *
 * <p>Each measured call follows an unmeasured one of the same, which wakes its threads, and a pause before it, in which
 * the threads of the others, that wait for more work by spinning, go to sleep.
 *
 * @param warmUp seconds in which each is called, unmeasured, one call after the other
 * @param measure seconds of measured turns
 * @param leastTurns measured turns even if that takes longer
 * @param mostTurns measured turns at most
 * @param pauseMilliseconds before each turn of a call
 */
public record Alternation(double warmUp, double measure, int leastTurns, int mostTurns, int pauseMilliseconds) {
    private static final double NANOSECONDS = 1e9;

    /** What is measured. */
    public interface Call {
        /**
         * Does the work once.
         *
         * @throws Exception what an implementation throws
         */
        void call() throws Exception;
    }

    /** The pause; a test need not wait. */
    interface Rest {
        void milliseconds(int count) throws InterruptedException;
    }

    /**
     * Measures with the clock of the machine.
     *
     * @param calls in the order of a turn
     * @param afterTurn called after each measured turn
     * @return durations of each
     * @throws Exception what a call throws
     */
    public List<Times> run(List<? extends Call> calls, Runnable afterTurn) throws Exception {
        return run(calls, afterTurn, System::nanoTime, Thread::sleep);
    }

    List<Times> run(List<? extends Call> calls, Runnable afterTurn, LongSupplier clock, Rest rest) throws Exception {
        List<List<Long>> times = new ArrayList<>();
        for (Call call : calls) {
            warmUp(call, clock);
            times.add(new ArrayList<>());
        }
        long start = clock.getAsLong();
        for (int turns = 0;
                turns < leastTurns || (turns < mostTurns && clock.getAsLong() - start < measure * NANOSECONDS);
                turns++) {
            for (int i = 0; i < calls.size(); i++) {
                times.get(i).add(measured(calls.get(i), clock, rest));
            }
            afterTurn.run();
        }
        return times.stream().map(Times::new).toList();
    }

    private void warmUp(Call call, LongSupplier clock) throws Exception {
        long start = clock.getAsLong();
        do {
            call.call();
        } while (clock.getAsLong() - start < warmUp * NANOSECONDS);
    }

    private long measured(Call call, LongSupplier clock, Rest rest) throws Exception {
        rest.milliseconds(pauseMilliseconds);
        call.call();
        long start = clock.getAsLong();
        call.call();
        return clock.getAsLong() - start;
    }
}
