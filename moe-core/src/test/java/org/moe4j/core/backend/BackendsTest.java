package org.moe4j.core.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backends.Precision;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.vector.VectorBackend;

final class BackendsTest {
    private static final Duration LIMIT = Duration.ofMinutes(3);
    private static final String ADD = "start it with --add-modules jdk.incubator.vector";

    @Test
    void withTheModuleTheBestIsVector() {
        assertThat(Backends.best()).isEqualTo(VectorBackend.float32());
        assertThat(Backends.best(Precision.FLOAT64)).isEqualTo(VectorBackend.float64());
    }

    @Test
    void byName() {
        assertThat(Backends.named("vector", Precision.FLOAT32)).isEqualTo(VectorBackend.float32());
        assertThat(Backends.named("vector", Precision.FLOAT64)).isEqualTo(VectorBackend.float64());
        assertThat(Backends.named("nd4j", Precision.FLOAT32)).isEqualTo(Nd4jBackend.float32());
        assertThat(Backends.named("nd4j", Precision.FLOAT64)).isEqualTo(Nd4jBackend.float64());
        assertThat(Backends.named("reference", Precision.FLOAT32)).isEqualTo(ReferenceBackend.instance());
        assertThatThrownBy(() -> Backends.named("gpu", Precision.FLOAT32))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessage("name: expected one of [vector, nd4j, reference] but was gpu");
    }

    private static List<String> child(String... options) throws IOException, InterruptedException {
        return ChildJvm.run(LIMIT, List.of(options), BackendsProbe.class)
                .lines()
                .filter(line -> !ChildJvm.isWarning(line))
                .toList();
    }

    @Test
    void withoutTheModuleTheBestIsNd4jAndVectorSaysWhatToAdd() throws IOException, InterruptedException {
        List<String> lines = child();
        assertThat(lines).hasSize(4);
        assertThat(lines.get(0)).isEqualTo("best: Nd4jBackend[float32]");
        assertThat(lines.get(1))
                .isEqualTo("vector: vector: expected a JVM with the module jdk.incubator.vector but was one without; "
                        + ADD);
        assertThat(lines.get(2)).isEqualTo("nd4j: Nd4jBackend[float32]");
        assertThat(lines.get(3)).isEqualTo("reference: ReferenceBackend");
    }

    @Test
    void withoutModuleAndNativesTheErrorSaysWhatBothLack() throws IOException, InterruptedException {
        List<String> lines = child("-Dorg.bytedeco.javacpp.platform=none");
        assertThat(lines).hasSize(4);
        assertThat(lines.get(0))
                .startsWith("best: backends: expected one that can run here but was none: vector: expected a JVM with")
                .contains(ADD + "; nd4j: natives: expected org.bytedeco:javacpp and org.bytedeco:openblas")
                .endsWith("; slow, but without needs: Backends.named(\"reference\", precision)");
        assertThat(lines.get(2)).startsWith("nd4j: nd4j: natives: expected");
        String second = lines.get(2).substring("nd4j: ".length());
        assertThat(lines.get(0))
                .as("the first failure is said again")
                .contains(second.substring(0, second.indexOf("; ")));
        assertThat(lines.get(3)).isEqualTo("reference: ReferenceBackend");
    }

    @Test
    void withoutNativesVectorDoesNotMissThem() throws IOException, InterruptedException {
        assertThat(child("--add-modules", "jdk.incubator.vector", "-Dorg.bytedeco.javacpp.platform=none"))
                .contains("best: VectorBackend[float32]", "vector: VectorBackend[float32]");
    }
}
