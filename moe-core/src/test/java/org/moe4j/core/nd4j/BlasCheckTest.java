package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.host.Machine;
import org.moe4j.core.host.Workers;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;

/** The check of OpenBLAS finds what is wrong, and nothing where nothing is. */
class BlasCheckTest {
    static {
        Natives.load();
    }

    @Test
    void thereAre76ProductsOfEveryKind() {
        List<BlasCheck.Case> cases = BlasCheck.cases();
        assertThat(cases).hasSize(38).doesNotHaveDuplicates();
        Set<List<Object>> kinds = new HashSet<>();
        cases.forEach(c -> kinds.add(List.of(c.way(), c.leftTransposed(), c.rightTransposed(), c.add())));
        assertThat(kinds).hasSize(8 + 2 + 3);
    }

    @Test
    void everyFaultIsCaught() {
        List<FaultyBlas> faulty = FaultyBlas.all();
        assertThat(faulty).hasSize(100);
        List<String> missed = new ArrayList<>();
        for (FaultyBlas blas : faulty) {
            if (new BlasCheck(blas.elements(), blas, new Workers(2)).fault().isEmpty()) {
                missed.add(blas.toString());
            }
        }
        Promise.measured(25, "faulty libraries caught", faulty.size() - missed.size() + " of " + faulty.size());
        assertThat(missed).isEmpty();
    }

    /** Wrong beyond the sizes of blocks that libraries have, in products as the host strategy makes them. */
    @Test
    void everyFaultOfLargeProductsIsCaught() {
        List<FaultyLargeBlas> faulty = FaultyLargeBlas.all();
        List<String> missed = new ArrayList<>();
        for (FaultyLargeBlas blas : faulty) {
            if (new BlasCheck(blas.elements(), blas, new Workers(2)).fault().isEmpty()) {
                missed.add(blas.toString());
            }
        }
        Promise.measured(
                25,
                "libraries faulty in large products caught",
                faulty.size() - missed.size() + " of " + faulty.size());
        assertThat(missed).isEmpty();
    }

    @Test
    void neitherThisOpenBlasNorJavaIsFaulty() {
        assertThat(CheckedBlas.fault()).isEmpty();
        for (Elements elements : new Elements[] {new FloatElements(), new DoubleElements()}) {
            assertThat(new BlasCheck(elements, new JavaBlas(elements), new Workers(2)).fault())
                    .isEmpty();
        }
    }

    /** Each in a JVM of its own: the kernels are chosen when the library is loaded. */
    @ParameterizedTest
    @CsvSource({
        "BARCELONA, pni",
        "NEHALEM, sse4_2",
        "HASWELL, avx2",
        "SKYLAKEX, avx512vl",
        "COOPERLAKE, avx512_bf16",
        "ZEN, avx2",
        "'', sse2"
    })
    void noKernelsAreFaulty(String core, String ability) throws IOException, InterruptedException {
        assumeThat(Machine.abilities().contains(ability))
                .as("an x86 processor with " + ability)
                .isTrue();
        String printed = ChildJvm.run(
                Duration.ofMinutes(1),
                ChildJvm.java(),
                List.of(),
                Map.of("OPENBLAS_CORETYPE", core),
                BlasCheckProgram.class);
        String line = printed.lines()
                .filter(one -> one.startsWith("checked "))
                .findFirst()
                .orElse(printed);
        assertThat(line)
                .startsWith("checked in ")
                .contains(core.isEmpty() ? ", core " : ", core " + core + ",")
                .endsWith(": right");
        Promise.measured(25, "kernels " + (core.isEmpty() ? "chosen by OpenBLAS" : core), line);
    }

    @Test
    void theWarningIsOneLineThatNamesTheMachineAndAWayOut() {
        assertThat(CheckedBlas.warning("float32, row 1"))
                .doesNotContain("\n")
                .startsWith(
                        "Nd4jBackend multiplies by Java loops, many times slower: OpenBLAS is wrong here (float32, row 1), on ")
                .contains(Machine.cpu(), "OpenBLAS 0.", ", core ", "JavaCPP 1.", "ND4J 1.", "MoE4J", Machine.jvm())
                .contains("set OPENBLAS_CORETYPE to other kernels", "another version of org.bytedeco:openblas");
    }

    @Test
    void generalKernelsOnAProcessorThatCanMoreAreWorthAHint() {
        for (String core : List.of("BARCELONA", "NEHALEM", "PRESCOTT", "CORE2", "unknown")) {
            assertThat(CheckedBlas.hint(core, true))
                    .hasValueSatisfying(line -> assertThat(line)
                            .doesNotContain("\n")
                            .startsWith("OpenBLAS has chosen kernels for older processors (" + core + ") on ")
                            .contains("set OPENBLAS_CORETYPE to Haswell"));
            assertThat(CheckedBlas.hint(core, false)).isEmpty();
        }
        assertThat(CheckedBlas.hint("ARMV8", false)).isPresent();
        assertThat(CheckedBlas.hint("HASWELL", true)).isEmpty();
        assertThat(CheckedBlas.hint("COOPERLAKE", true)).isEmpty();
    }
}
