package org.moe4j.bench.layer;

import java.util.Locale;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Promise;

/**
 * Every gradient of a whole layer against central differences of the token-by-token definition: the function
 * differentiated here shares no code with the library, so that values and gradients are tested at once.
 */
class LayerGradientTest {
    /** Seeds 0 … CASES − 1. */
    static final int CASES = 640;

    private static final int[] REFUSED = new int[1];
    private static double worst;
    private static int layers;

    @AfterAll
    static void keep() {
        Promise.measured(
                6,
                "gradients and central differences",
                String.format(
                        Locale.ROOT,
                        "worst %.4f of 1e-6 max(|a|, |n|, norm); %d layers, %d draws near a tie or kink refused",
                        worst,
                        layers,
                        REFUSED[0]));
    }

    static LongStream seeds() {
        Long replay = Long.getLong("moe.seed");
        return replay == null ? LongStream.range(0, CASES) : LongStream.of(replay);
    }

    @ParameterizedTest(name = "{0}; replay with -Dmoe.seed={0}")
    @MethodSource("seeds")
    void everyGradientAgreesWithCentralDifferences(long seed) {
        LayerCase c = LayerDraw.of(seed, REFUSED);
        ReferenceBackend backend = ReferenceBackend.instance();
        try (MoeLayer layer = LibraryLayer.of(c, backend)) {
            Map<String, double[]> gradients = LayerChecks.gradients(c, layer, backend);
            worst = Math.max(worst, LayerChecks.gradientsByDifferences(c, gradients));
            layers++;
            LayerChecks.accumulated(c, layer, backend, gradients, seed);
        }
    }
}
