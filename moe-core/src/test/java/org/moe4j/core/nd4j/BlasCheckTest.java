package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.backend.PrintedLog;
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

    /** The simplest kernels, and those that OpenBLAS chooses. */
    @ParameterizedTest
    @CsvSource({"BARCELONA, pni", "'', sse2"})
    void noKernelsAreFaulty(String core, String ability) throws IOException, InterruptedException {
        notFaulty(core, ability);
    }

    @Tag("soak")
    @ParameterizedTest
    @CsvSource({
        "NEHALEM, sse4_2",
        "HASWELL, avx2",
        "SKYLAKEX, avx512vl",
        "COOPERLAKE, avx512_bf16",
        "ZEN, avx2",
    })
    void noOtherKernelsAreFaulty(String core, String ability) throws IOException, InterruptedException {
        notFaulty(core, ability);
    }

    /** In a JVM of its own: the kernels are chosen when the library is loaded. */
    private static void notFaulty(String core, String ability) throws IOException, InterruptedException {
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

    /** What takes the place of OpenBLAS in one precision: right but in the first element of long sums. */
    private static final String WRONG = """
            package org.moe4j.core.nd4j;

            final class NAMEBlas implements Blas {
                private final Elements elements = new NAMEElements();

                @Override
                public void gemm(int m, int n, int k, Operand a, Operand b, boolean add, Operand c) {
                    new JavaBlas(elements).gemm(m, n, k, a, b, add, c);
                    if (k > 256) {
                        elements.write(c.buffer().block(), c.at(), new double[] {1e9}, 0, 1);
                    }
                }

                @Override
                public boolean hasSmallKernels() {
                    return false;
                }
            }
            """;

    /**
     * A JVM in which OpenBLAS is wrong, in both precisions. That in double is not even checked, as the other one is wrong already; its products
     * are right because it is not used.
     */
    @Test
    void aWrongLibraryIsNotUsedAndOneWarningSaysSo(@TempDir Path folder) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of("-proc:none", "-cp", System.getProperty("java.class.path"), "-d", folder.toString()));
        for (String name : List.of("Float", "Double")) {
            Path source = folder.resolve(name + "Blas.java");
            Files.writeString(source, WRONG.replace("NAME", name));
            command.add(source.toString());
        }
        assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, command.toArray(String[]::new)))
                .isZero();
        List<String> printed = ChildJvm.runWith(
                        folder,
                        Duration.ofMinutes(2),
                        List.of("-Dslf4j.provider=" + PrintedLog.class.getName()),
                        WrongBlasProgram.class)
                .lines()
                .toList();
        String wrong = "float32, Case[";
        assertThat(printed)
                .filteredOn(line -> line.startsWith("WARN "))
                .singleElement()
                .asString()
                .startsWith(
                        "WARN org.moe4j.core.nd4j.CheckedBlas: Nd4jBackend multiplies by Java loops, many times slower: OpenBLAS is wrong here ("
                                + wrong);
        assertThat(printed)
                .filteredOn(line -> line.startsWith("INFO org.moe4j."))
                .singleElement()
                .asString()
                .contains("backend: nd4j (products by Java loops, as those are wrong of OpenBLAS 0.");
        assertThat(printed).contains("products right");
        assertThat(printed)
                .filteredOn(line -> line.startsWith("details "))
                .singleElement()
                .asString()
                .startsWith("details products by Java loops, as those are wrong of OpenBLAS 0.");
        assertThat(printed)
                .filteredOn(line -> line.startsWith("report "))
                .singleElement()
                .asString()
                .startsWith("report OpenBLAS 0.")
                .contains(", not used, as it is wrong: " + wrong);
        Promise.measured(25, "a wrong library", "not used, in both precisions; one warning");
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
