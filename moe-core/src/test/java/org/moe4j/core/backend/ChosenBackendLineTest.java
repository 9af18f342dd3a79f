package org.moe4j.core.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.moe4j.core.host.Machine;
import org.moe4j.core.testing.ChildJvm;

/** What a program's log says of the backend that was chosen: one line a process. */
final class ChosenBackendLineTest {
    private static final String CHOSEN = "INFO org.moe4j.core.backend.Backends: backend: ";

    private static List<String> log(String core, String... options) throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(List.of(options));
        all.add("-Dslf4j.provider=" + PrintedLog.class.getName());
        return ChildJvm.run(
                        Duration.ofMinutes(1),
                        ChildJvm.java(),
                        all,
                        Map.of("OPENBLAS_CORETYPE", core),
                        ChosenBackendProgram.class)
                .lines()
                .filter(line -> line.matches("[A-Z]+ org[.]moe4j[.].*"))
                .toList();
    }

    @Test
    void vectorSaysItsVectorsProcessorsAndVersions() throws IOException, InterruptedException {
        assertThat(log("", "--add-modules", "jdk.incubator.vector"))
                .singleElement()
                .asString()
                .startsWith(CHOSEN + "vector (vectors of ")
                .contains(" bits, ", " processors, MoE4J", Machine.jvm(), Machine.cpu());
    }

    @Test
    void nd4jSaysItsKernelsThreadsVersionsAndWhyNotVector() throws IOException, InterruptedException {
        assumeThat(Machine.abilities()).as("an x86 processor with avx2").contains("avx2");
        assertThat(log("HASWELL"))
                .singleElement()
                .asString()
                .startsWith(CHOSEN + "nd4j (OpenBLAS 0.3.31, core HASWELL, 1 thread per product, ")
                .contains(" processors, JavaCPP 1.5.13, ND4J 1.0.0-M2.1, MoE4J", Machine.jvm(), Machine.cpu())
                .contains("as others cannot run here: vector: expected a JVM with the module");
    }

    @Test
    void kernelsForOlderProcessorsAreALineMore() throws IOException, InterruptedException {
        assumeThat(Machine.abilities()).as("an x86 processor with avx2").contains("avx2");
        List<String> log = log("BARCELONA");
        assertThat(log).hasSize(2);
        assertThat(log.get(0))
                .startsWith(
                        "INFO org.moe4j.core.nd4j.CheckedBlas: OpenBLAS has chosen kernels for older processors (BARCELONA)");
        assertThat(log.get(1)).startsWith(CHOSEN + "nd4j (OpenBLAS 0.3.31, core BARCELONA, ");
    }
}
