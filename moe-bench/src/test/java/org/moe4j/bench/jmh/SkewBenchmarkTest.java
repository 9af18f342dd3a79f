package org.moe4j.bench.jmh;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

class SkewBenchmarkTest {
    @Test
    void everySpreadHasAsManyRows() {
        for (String spread : new String[] {"even", "busiest", "half"}) {
            assertThat(Arrays.stream(SkewBenchmark.sizes(spread, 64)).sum())
                    .as(spread)
                    .isEqualTo(2048);
        }
        assertThat(SkewBenchmark.sizes("even", 64)).containsOnly(32);
        assertThat(SkewBenchmark.sizes("half", 64)[0]).isEqualTo(1024);
        assertThat(SkewBenchmark.sizes("busiest", 64)[0]).isEqualTo(182); // 5.7 · 32
    }

    @Test
    void theBusiestHasTheOthersFallingBehindEvenly() {
        int[] sizes = SkewBenchmark.sizes("busiest", 64);
        double fraction = (double) sizes[1] / sizes[0];
        assertThat(sizes[10])
                .isBetween((int) (182 * Math.pow(fraction, 10)) - 20, (int) (182 * Math.pow(fraction, 10)) + 20);
        assertThat(sizes[63]).isLessThan(sizes[0] / 50);
    }
}
