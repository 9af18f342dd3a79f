package org.moe4j.core.vector;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.testing.ChildJvm;

/** Vectors of any length, any CPU and any JDK give the same bits: those of scalar loops. */
final class VectorLengthsTest {
    private static final String HASH = "1e25ac724ee4672db3bc5fc53d5265a61aa890fa107b6cb9bbf1fa0b81ee2147";

    @Test
    void theHashIsThatOfScalarLoops() {
        assertThat(DeterminismProbe.hashOfScalarLoops()).isEqualTo(HASH);
    }

    @Test
    void theBitsAreThoseOfEveryMachine() {
        assertThat(DeterminismProbe.hash()).isEqualTo(HASH);
    }

    @ParameterizedTest
    @CsvSource({"-XX:MaxVectorSize=16,4", "-XX:MaxVectorSize=32,8", "-XX:MaxVectorSize=64,16", "-XX:UseAVX=2,8"})
    void vectorsOfAnyLength(String option, int lanes) throws IOException, InterruptedException {
        List<String> options = new ArrayList<>(List.of("--add-modules", "jdk.incubator.vector", option));
        boolean intel = List.of("amd64", "x86_64").contains(System.getProperty("os.arch"));
        assumeThat(intel || !option.contains("AVX")).as(option).isTrue();
        String printed = ChildJvm.run(Duration.ofMinutes(5), options, DeterminismProbe.class);
        String last = printed.lines().reduce("", (before, line) -> line);
        assertThat(last).endsWith(" " + HASH);
        int most = FloatNumbers.INSTANCE.panel() / 2;
        assertThat(last).startsWith(Math.min(lanes, most) + " ");
    }
}
