package org.moe4j.bench.jmh.loading;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.testing.ChildJvm;

/** A layer of 200 MB in single precision is loaded by a JVM whose whole heap is 64 MiB: no tensor passes through it. */
class LoadingMemoryTest {
    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"BF16", "FP8", "MXFP4", "transposed"})
    void aLayerIsLoadedInASmallHeap(String kind) throws Exception {
        CheckpointFiles.write(folder, kind);
        List<String> options = List.of(
                "-Xmx64m",
                // ND4J's memory is limited by the heap's size unless told otherwise.
                "-Dorg.bytedeco.javacpp.maxbytes=4g",
                "-Dorg.bytedeco.javacpp.maxphysicalbytes=8g");
        String printed = ChildJvm.run(Duration.ofMinutes(10), options, LoadingProbe.class, folder.toString());
        assertThat(printed).contains("loaded 50339840 weights");
    }
}
