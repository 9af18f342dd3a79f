package org.moe4j.core.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.host.Machine;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.testing.ChildJvm;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.testing.definition.ProductCases;
import org.moe4j.core.vector.VectorBackend;

/** Every element of a product lies as near to the exact one as {@link ProductCases} says, on both fast backends and in both precisions. */
final class ProductBoundTest {
    private static final int FORCED = 1_000;

    private static void run(int cases, long firstSeed, String what) {
        List<Backend> backends =
                List.of(VectorBackend.float32(), VectorBackend.float64(), Nd4jBackend.float32(), Nd4jBackend.float64());
        double worst = ProductCases.worst(backends, firstSeed, cases);
        Promise.measured(1, what, figure(cases, worst));
    }

    /** None is beyond the bound, or this throws. */
    static String figure(int cases, double worst) {
        assertThat(worst).isPositive().isLessThanOrEqualTo(1);
        return String.format(Locale.ROOT, "0 of %,d products beyond the bound, worst %.2f of it", cases, worst);
    }

    @Test
    void productsLieWithinTheBound() {
        run(20_000, 1, "products");
    }

    @Tag("soak")
    @Test
    void aMillionProductsLieWithinTheBound() {
        run(Integer.getInteger("moe.products", 1_000_000), 1_000_000, "many products");
    }

    /** Kernels that OpenBLAS would not choose here, each in a JVM of its own. */
    @ParameterizedTest
    @CsvSource({"BARCELONA, pni", "HASWELL, avx2", "SKYLAKEX, avx512vl"})
    void otherKernelsDoToo(String core, String ability) throws IOException, InterruptedException {
        assumeThat(Machine.abilities().contains(ability))
                .as("a processor with " + ability)
                .isTrue();
        String printed = ChildJvm.run(
                Duration.ofMinutes(2),
                ChildJvm.java(),
                List.of(),
                Map.of("OPENBLAS_CORETYPE", core),
                ProductBoundProgram.class,
                Integer.toString(FORCED));
        String line = printed.lines()
                .filter(one -> one.startsWith("0 of "))
                .findFirst()
                .orElse(printed);
        assertThat(line).startsWith("0 of ").contains(", core " + core + ",");
        Promise.measured(1, "kernels " + core, line);
    }
}
