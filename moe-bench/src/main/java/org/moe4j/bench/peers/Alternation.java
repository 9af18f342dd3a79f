package org.moe4j.bench.peers;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * Measures two implementations in turn, so that what else the machine does meets both: one, the other, one, the other.
 *
 * <p>Each measured call follows an unmeasured one of the same implementation, which wakes its threads, and a pause before it, in which
 * the threads of the other one, that wait for more work by spinning, go to sleep.
 *
 * @param warmUp seconds in which each is called, unmeasured, one call after the other
 * @param measure seconds of measured turns
 * @param leastTurns measured turns even if that takes longer
 * @param mostTurns measured turns at most
 * @param pauseMilliseconds before each turn of an implementation
 */
record Alternation(double warmUp, double measure, int leastTurns, int mostTurns, int pauseMilliseconds) {
    private static final double NANOSECONDS = 1e9;

    /** How long an implementation took beside another. */
    record Pair(Times ours, Times peer) {}

    /** The pause; a test need not wait. */
    interface Rest {
        void milliseconds(int count) throws InterruptedException;
    }

    /** Measures with the clock of the machine. */
    Pair run(Contender.Calls ours, Contender.Calls peer) throws Exception {
        return run(ours, peer, System::nanoTime, Thread::sleep);
    }

    Pair run(Contender.Calls ours, Contender.Calls peer, LongSupplier clock, Rest rest) throws Exception {
        List<Contender.Calls> both = List.of(ours, peer);
        for (Contender.Calls calls : both) {
            warmUp(calls, clock);
        }
        List<Long> first = new ArrayList<>();
        List<Long> second = new ArrayList<>();
        long start = clock.getAsLong();
        while (first.size() < leastTurns
                || (first.size() < mostTurns && clock.getAsLong() - start < measure * NANOSECONDS)) {
            List<Long> turn = turn(both, clock, rest);
            first.add(turn.get(0));
            second.add(turn.get(1));
        }
        return new Pair(new Times(first), new Times(second));
    }

    private void warmUp(Contender.Calls calls, LongSupplier clock) throws Exception {
        long start = clock.getAsLong();
        do {
            calls.call();
        } while (clock.getAsLong() - start < warmUp * NANOSECONDS);
    }

    private List<Long> turn(List<Contender.Calls> both, LongSupplier clock, Rest rest) throws Exception {
        List<Long> times = new ArrayList<>();
        for (Contender.Calls calls : both) {
            rest.milliseconds(pauseMilliseconds);
            calls.call();
            long start = clock.getAsLong();
            calls.call();
            times.add(clock.getAsLong() - start);
        }
        return times;
    }
}
