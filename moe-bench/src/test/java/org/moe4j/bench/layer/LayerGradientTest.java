package org.moe4j.bench.layer;

import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.reference.ReferenceBackend;

/**
 * Every gradient of a whole layer against central differences of the token-by-token definition: the function
 * differentiated here shares no code with the library, so that values and gradients are tested at once.
 */
class LayerGradientTest {
    /** Seeds 0 … CASES − 1. */
    static final int CASES = 640;

    static LongStream seeds() {
        Long replay = Long.getLong("moe.seed");
        return replay == null ? LongStream.range(0, CASES) : LongStream.of(replay);
    }

    @ParameterizedTest(name = "{0}; replay with -Dmoe.seed={0}")
    @MethodSource("seeds")
    void everyGradientAgreesWithCentralDifferences(long seed) {
        LayerCase c = LayerDraw.of(seed, new int[1]);
        ReferenceBackend backend = ReferenceBackend.instance();
        try (MoeLayer layer = LibraryLayer.of(c, backend)) {
            Map<String, double[]> gradients = LayerChecks.gradients(c, layer, backend);
            LayerChecks.gradientsByDifferences(c, gradients);
            LayerChecks.accumulated(c, layer, backend, gradients, seed);
        }
    }
}
