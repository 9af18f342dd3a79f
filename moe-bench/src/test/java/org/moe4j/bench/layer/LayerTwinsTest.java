package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.core.testing.standin.FaultyBackend;
import org.moe4j.core.testing.standin.FaultyBackend.Fault;

/** What {@link LayerChecks} demands is checked: right layers pass, and faults just above its limits fail. */
class LayerTwinsTest {
    private static final int CASES = 40;
    private static final ReferenceBackend REFERENCE = ReferenceBackend.instance();

    private static LayerCase wide(long seed) {
        return LayerDraw.of(seed, 8, 40, new int[1]);
    }

    private static void outputs(LayerCase c, Backend backend) {
        try (MoeLayer layer = LibraryLayer.of(c, backend)) {
            LayerChecks.outputAndCoefficients(c, layer, backend);
        }
    }

    private static Map<String, double[]> gradients(LayerCase c, Backend backend) {
        try (MoeLayer layer = LibraryLayer.of(c, backend)) {
            return LayerChecks.gradients(c, layer, backend);
        }
    }

    private static void gradientsBesideTheReference(LayerCase c, Backend backend) {
        LayerChecks.sameGradients(c, backend, gradients(c, backend), gradients(c, REFERENCE));
    }

    private static void accumulated(LayerCase c, Backend backend) {
        try (MoeLayer layer = LibraryLayer.of(c, backend)) {
            LayerChecks.accumulated(c, layer, backend, gradients(c, REFERENCE), 1);
        }
    }

    /** In how many cases a check fails. */
    private static long failures(Fault fault, double size, Check check) {
        return LongStream.range(0, CASES)
                .filter(seed -> {
                    try {
                        check.of(wide(seed), new FaultyBackend(fault, size).backend());
                        return false;
                    } catch (AssertionError
                            | ArithmeticException found) { // a router refuses logits that are not finite
                        return true;
                    }
                })
                .count();
    }

    private interface Check {
        void of(LayerCase c, Backend backend);
    }

    @Test
    void rightLayersPass() {
        assertThat(failures(Fault.NONE, 0, LayerTwinsTest::outputs)).isZero();
        assertThat(failures(Fault.NONE, 0, LayerTwinsTest::gradientsBesideTheReference))
                .isZero();
        assertThat(failures(Fault.NONE, 0, LayerTwinsTest::accumulated)).isZero();
    }

    /** A product that is off by no more than products may be stays far within what whole layers may be off. */
    @ParameterizedTest
    @CsvSource({
        "ROW_LOST, 1",
        "ROWS_SWAPPED, 1",
        "ADDEND_LOST, 1",
        "NOT_A_NUMBER, 1",
        "SUM, 1e-3",
        "PRODUCT, 1000",
        "PRODUCT, NaN"
    })
    void faultsOfKernelsAreFoundInOutputs(Fault fault, double size) {
        assertThat(failures(fault, size, LayerTwinsTest::outputs))
                .as("%s", fault)
                .isGreaterThan(CASES / 4);
    }

    @ParameterizedTest
    @CsvSource({
        "ROW_LOST, 1",
        "ROWS_SWAPPED, 1",
        "ADDEND_LOST, 1",
        "NOT_A_NUMBER, 1",
        "DERIVATIVE, 1e-4",
        "PRODUCT_OVER_ROWS, 1000",
        "PRODUCT_OVER_ROWS, NaN"
    })
    void faultsOfKernelsAreFoundInGradients(Fault fault, double size) {
        assertThat(failures(fault, size, LayerTwinsTest::gradientsBesideTheReference))
                .as("%s", fault)
                .isGreaterThan(CASES / 4);
    }

    @Test
    void aLostUpdateIsFoundInBuffers() {
        assertThat(failures(Fault.UPDATE_LOST, 1, LayerTwinsTest::accumulated)).isGreaterThan(CASES / 4);
    }

    /** Sums of rows are the routed output itself, without a merge and a latent width. */
    @Test
    void anOutputJustBelowTheLimitPassesAndJustAboveFails() {
        int tried = 0;
        for (long seed = 0; seed < 200; seed++) {
            LayerCase c = LayerDraw.ofSwiGlu(seed, 8, 40);
            if (!c.merge().convention().equals("none")
                    || c.sizes().tokens() == 0
                    || c.capacity().isPresent()) {
                continue;
            }
            tried++;
            Backend right = new FaultyBackend(Fault.NONE, 0).backend();
            double limit = LayerChecks.bound(right, c)
                    * FiniteDifferences.norm(TokenwiseLayer.output(LibraryDraws.in(c, right)));
            outputs(c, new FaultyBackend(Fault.SUM, 0.99 * limit).backend());
            outputs(c, new FaultyBackend(Fault.SUM, -0.99 * limit).backend());
            for (double size : new double[] {1.01 * limit, -1.01 * limit, Double.NaN, Double.POSITIVE_INFINITY}) {
                assertThatThrownBy(() -> outputs(c, new FaultyBackend(Fault.SUM, size).backend()))
                        .as("%s off by %s", c, size)
                        .isInstanceOf(AssertionError.class);
            }
        }
        assertThat(tried).isGreaterThan(5);
    }

    /** Plants an error in the largest element of a gradient and says whether a check finds it. */
    private static boolean found(
            Map<String, double[]> gradients, String name, double error, Consumer<Map<String, double[]>> check) {
        Map<String, double[]> planted = new HashMap<>(gradients);
        double[] values = gradients.get(name).clone();
        int largest = 0;
        for (int i = 0; i < values.length; i++) {
            largest = Math.abs(values[i]) > Math.abs(values[largest]) ? i : largest;
        }
        values[largest] += error;
        planted.put(name, values);
        try {
            check.accept(planted);
            return false;
        } catch (AssertionError failure) {
            return true;
        }
    }

    @Test
    void gradientsJustBelowTheLimitsPassAndJustAboveFail() {
        Backend single = new FaultyBackend(Fault.NONE, 0).backend();
        int tried = 0;
        for (long seed = 1; seed < 25; seed++) {
            LayerCase c = LayerDraw.of(seed, new int[1]);
            Map<String, double[]> right = gradients(c, REFERENCE);
            double norm = FiniteDifferences.norm(right.values().toArray(new double[0][]));
            if (norm == 0) {
                continue;
            }
            tried++;
            String name = seed % 2 == 0 ? "tokens" : "router.weight";
            Consumer<Map<String, double[]>> byDifferences = planted -> LayerChecks.gradientsByDifferences(c, planted);
            Consumer<Map<String, double[]>> beside = planted -> LayerChecks.sameGradients(c, single, planted, right);
            double limit = FiniteDifferences.TOLERANCE * norm;
            assertThat(found(right, name, 0.9 * limit, byDifferences))
                    .as("%s", c)
                    .isFalse();
            assertThat(found(right, name, 1.1 * limit, byDifferences))
                    .as("%s", c)
                    .isTrue();
            assertThat(found(right, name, -1.1 * limit, byDifferences))
                    .as("%s", c)
                    .isTrue();
            double besideLimit = 2 * LayerChecks.bound(single, c) * norm;
            assertThat(found(right, name, 0.99 * besideLimit, beside))
                    .as("%s", c)
                    .isFalse();
            assertThat(found(right, name, 1.01 * besideLimit, beside))
                    .as("%s", c)
                    .isTrue();
            for (double bad : new double[] {Double.NaN, Double.POSITIVE_INFINITY}) {
                assertThat(found(right, name, bad, byDifferences)).as("%s", c).isTrue();
                assertThat(found(right, name, bad, beside)).as("%s", c).isTrue();
            }
        }
        assertThat(tried).isGreaterThan(15);
    }
}
