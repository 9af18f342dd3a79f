package org.moe4j.core.vector;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.testing.ChildJvm;

/** Vectors of any length, any CPU and any JDK give the same bits: those of scalar loops. */
final class VectorLengthsTest {
    private static final String HASH = "1e25ac724ee4672db3bc5fc53d5265a61aa890fa107b6cb9bbf1fa0b81ee2147";
    private static final int SHORTEST = 4; // lanes: 128 bits, which every CPU of a JVM with vectors has

    @Test
    void theHashIsThatOfScalarLoops() {
        assertThat(DeterminismProbe.hashOfScalarLoops()).isEqualTo(HASH);
    }

    @Test
    void theBitsAreThoseOfEveryMachine() {
        assertThat(DeterminismProbe.hash()).isEqualTo(HASH);
    }

    /** Each length below the longest that a JVM takes on this machine, which this one has itself. */
    static Stream<Arguments> lengths() throws IOException, InterruptedException {
        int longest = Integer.parseInt(probed(List.of(), "lanes"));
        List<Arguments> lengths = new ArrayList<>();
        for (int lanes = SHORTEST; lanes < longest || lanes == SHORTEST; lanes *= 2) {
            lengths.add(Arguments.of("-XX:MaxVectorSize=" + lanes * Float.BYTES, lanes));
        }
        boolean x86 = List.of("amd64", "x86_64").contains(System.getProperty("os.arch"));
        if (x86 && longest >= 2 * SHORTEST) {
            lengths.add(
                    Arguments.of("-XX:UseAVX=2", 2 * SHORTEST)); // the same length without the instructions of AVX-512
        }
        assertThat(lengths).as("%d lanes at most", longest).isNotEmpty();
        return lengths.stream();
    }

    @ParameterizedTest
    @MethodSource("lengths")
    void vectorsOfAnyLength(String option, int lanes) throws IOException, InterruptedException {
        assertThat(probed(List.of(option))).isEqualTo(lanes + " " + HASH);
    }

    /** The last line of the probe in a JVM of its own; a JVM may warn before it. */
    private static String probed(List<String> more, String... arguments) throws IOException, InterruptedException {
        List<String> options = new ArrayList<>(List.of("--add-modules", "jdk.incubator.vector"));
        options.addAll(more);
        return ChildJvm.run(Duration.ofMinutes(5), options, DeterminismProbe.class, arguments)
                .lines()
                .reduce("", (before, line) -> line);
    }
}
