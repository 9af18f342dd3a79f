package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;

/** Whole layers on {@code VectorBackend} have the same bits in every run, for any number of workers, on every JDK. */
class LayerBitsTest {
    private static final String HASH = "82fc2bca0ea66f3c4f868d2943fd6c787f3fd87d192bef9fade0a1ac92f1940c";
    private static final Duration LIMIT = Duration.ofMinutes(5);
    private static final List<String> MODULE = List.of("--add-modules", "jdk.incubator.vector");
    private static final int[] WORKERS = {1, 2, 3, 4, 16};

    @Test
    void theBitsAreThoseOfEveryMachine() {
        assertThat(LayerBits.hash(LayerBits.SMALL, LayerBits.WIDE, 2)).isEqualTo(HASH);
        Promise.measured(
                13,
                "whole layers on VectorBackend",
                "one hash of " + (LayerBits.SMALL + LayerBits.WIDE)
                        + " layers in two precisions, forward, apply and all gradients");
    }

    private static void runs(int runs, int small, int wide) {
        String first = LayerBits.hash(small, wide, 1);
        for (int i = 0; i < runs; i++) {
            int workers = WORKERS[i % WORKERS.length];
            assertThat(LayerBits.hash(small, wide, workers))
                    .as("run %d with %d workers", i, workers)
                    .isEqualTo(first);
        }
        Promise.measured(
                13, "runs and workers of " + (small + wide) + " layers", runs + " runs, 1 to 16 workers: one hash");
    }

    @Test
    void workersAndRunsChangeNoBit() {
        runs(10, 2, 2);
    }

    @Test
    @Tag("soak")
    void aHundredRunsChangeNoBit() {
        runs(100, LayerBits.SMALL, LayerBits.WIDE);
    }

    private static String child(Path java, List<String> options, Map<String, String> environment)
            throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(MODULE);
        all.addAll(options);
        return ChildJvm.run(LIMIT, java, all, environment, LayerBits.class);
    }

    /** The other JDK of the machine, where there is one: beside ours, or as {@code -Dmoe.other.jdk} says. */
    @Test
    void anotherJdkHasTheSameBits() throws IOException, InterruptedException {
        String printed = child(ChildJvm.otherJava("jdk.incubator.vector"), List.of(), Map.of());
        assertThat(printed).contains("bits " + HASH);
        Promise.measured(
                13,
                "another JDK",
                "JDK " + Runtime.version().feature() + " and "
                        + printed.substring(printed.lastIndexOf(' ')).strip() + ": one hash");
    }

    /** Without the compiler that knows vectors every kernel is what its scalar code says. */
    @Test
    void withoutVectorInstructionsTheBitsAreTheSame() throws IOException, InterruptedException {
        assertThat(child(ChildJvm.java(), List.of("-XX:TieredStopAtLevel=1"), Map.of()))
                .contains("bits " + HASH);
    }

    @ParameterizedTest
    @Tag("soak")
    @ValueSource(
            strings = {"-XX:MaxVectorSize=16", "-XX:MaxVectorSize=32", "-XX:MaxVectorSize=64", "-XX:-UseSuperWord"})
    void vectorsOfAnyLengthGiveTheSameBits(String option) throws IOException, InterruptedException {
        assertThat(child(ChildJvm.java(), List.of(option), Map.of())).contains("bits " + HASH);
    }

    /** OpenBLAS has no part in it. */
    @ParameterizedTest
    @Tag("soak")
    @ValueSource(strings = {"Haswell", "Cooperlake", "Barcelona", ""})
    void whateverOpenBlasIsToldTheBitsAreTheSame(String core) throws IOException, InterruptedException {
        assertThat(child(ChildJvm.java(), List.of(), Map.of("OPENBLAS_CORETYPE", core)))
                .contains("bits " + HASH);
    }
}
