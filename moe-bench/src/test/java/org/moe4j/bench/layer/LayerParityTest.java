package org.moe4j.bench.layer;

import java.util.Map;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.reference.ReferenceBackend;

/** Every backend against the token-by-token definition and, for gradients, against the reference. */
class LayerParityTest {
    private static final int CASES = 40;

    static Stream<Arguments> backendsAndSeeds() {
        return LayerChecks.backends().stream()
                .flatMap(backend ->
                        LongStream.range(0, CASES).mapToObj(seed -> Arguments.of(backend.name(), backend, seed)));
    }

    @ParameterizedTest(name = "{0} seed {2}")
    @MethodSource("backendsAndSeeds")
    void outputAndCoefficientsAreThoseOfTheDefinition(String name, Backend backend, long seed) {
        LayerCase c = LayerDraw.of(seed, 8, 40, new int[1]);
        try (MoeLayer layer = LibraryLayer.of(c, backend)) {
            LayerChecks.outputAndCoefficients(c, layer, backend);
        }
    }

    @ParameterizedTest(name = "{0} seed {2}")
    @MethodSource("backendsAndSeeds")
    void gradientsAreThoseOfTheReference(String name, Backend backend, long seed) {
        LayerCase c = LayerDraw.of(seed, 8, 40, new int[1]);
        ReferenceBackend reference = ReferenceBackend.instance();
        try (MoeLayer layer = LibraryLayer.of(c, backend);
                MoeLayer defining = LibraryLayer.of(c, reference)) {
            Map<String, double[]> expected = LayerChecks.gradients(c, defining, reference);
            Map<String, double[]> gradients = LayerChecks.gradients(c, layer, backend);
            LayerChecks.sameGradients(c, backend, gradients, expected);
            LayerChecks.accumulated(c, layer, backend, gradients, seed);
        }
    }
}
