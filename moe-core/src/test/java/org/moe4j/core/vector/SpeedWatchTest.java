package org.moe4j.core.vector;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** With times that the test makes up. */
final class SpeedWatchTest {
    private static final int LANES = FloatNumbers.INSTANCE.panel() / 2;
    private static final long EXPECTED = 10_000_000;
    private static final int THREADS = 2;

    private final List<String> lines = new ArrayList<>();
    private final SpeedWatch watch = new SpeedWatch(lines::add);

    private void runs(int count, long nanos) {
        for (int i = 0; i < count; i++) {
            watch.ran(nanos, EXPECTED * THREADS * LANES / 16, THREADS);
        }
    }

    @Test
    void slowKernelsAreSaidOnce() {
        runs(SpeedWatch.WARMING + SpeedWatch.WATCHED - 1, 10 * EXPECTED);
        assertThat(lines).isEmpty();
        runs(1000, 10 * EXPECTED);
        assertThat(lines).hasSize(1);
        assertThat(lines.get(0))
                .startsWith("VectorBackend is slow: the fastest of 100 runs took 10 times as long as expected, on ");
    }

    @Test
    void oneFastRunIsEnough() {
        runs(SpeedWatch.WARMING + 50, 10 * EXPECTED);
        runs(1, SpeedWatch.SLOWEST * EXPECTED);
        runs(1000, 10 * EXPECTED);
        assertThat(lines).isEmpty();
    }

    @Test
    void aFastRunBeforeAllIsCompiledIsNone() {
        runs(SpeedWatch.WARMING, EXPECTED);
        runs(1000, (SpeedWatch.SLOWEST + 1) * EXPECTED);
        assertThat(lines).hasSize(1);
    }

    @Test
    void shortRunsDoNotCount() {
        for (int i = 0; i < 1000; i++) {
            watch.ran(1_000_000_000, 1000, 1);
        }
        assertThat(lines).isEmpty();
    }
}
