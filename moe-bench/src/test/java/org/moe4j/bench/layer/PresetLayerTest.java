package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.bench.layer.LayerCase.Sizes;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;

/**
 * Every preset of the library, with its own numbers of experts and small widths: the layer that the library reads from the
 * file against the definition of what {@link PresetWords} reads from it.
 */
class PresetLayerTest {
    private static final int HIDDEN = 9;
    private static final int WIDTH = 8;
    private static final Map<String, LayerCase> CASES = new HashMap<>();
    private static final Map<String, Map<String, double[]>> GRADIENTS = new HashMap<>();

    static Stream<String> presets() {
        return Preset.names().stream();
    }

    /** Without the device strategy, which is slow with hundreds of experts and has random layers in {@link LayerParityTest}. */
    static Stream<Arguments> presetsAndBackends() {
        List<Backend> backends = Stream.concat(
                        Stream.of(ReferenceBackend.instance()), LayerChecks.fastBackends().stream())
                .toList();
        return presets()
                .flatMap(preset -> backends.stream().map(backend -> Arguments.of(preset, backend.name(), backend)));
    }

    static Stream<Arguments> presetsAndFastBackends() {
        return presetsAndBackends().filter(each -> each.get()[2] != ReferenceBackend.instance());
    }

    private static LayerCase layerCase(String preset) {
        return CASES.computeIfAbsent(preset, name -> {
            LayerCase empty = withoutTokens(name);
            return PresetWords.layer(name, new Sizes(tokens(empty), HIDDEN, WIDTH));
        });
    }

    private static LayerCase withoutTokens(String preset) {
        return PresetWords.layer(preset, new Sizes(0, HIDDEN, WIDTH));
    }

    /**
     * Few tokens; where there is a capacity, so many that the even share just fills its rows, and it drops some: of many experts
     * fewer, since all tokens of such a case are alike.
     */
    private static int tokens(LayerCase c) {
        boolean many = c.router().experts() >= 100;
        double assignmentsPerToken = (double) c.router().topK() / c.router().experts();
        return c.capacity()
                .map(CapacityWords::rows)
                .map(rows -> many ? 16 : (int) (rows.multipleOf() / (assignmentsPerToken * rows.factor())) + 6)
                .orElse(many ? 3 : 6);
    }

    private static Map<String, double[]> referenceGradients(String preset) {
        return GRADIENTS.computeIfAbsent(preset, name -> {
            LayerCase c = layerCase(name);
            ReferenceBackend backend = ReferenceBackend.instance();
            try (MoeLayer layer = PresetLayer.of(c, backend)) {
                return LayerChecks.gradients(c, layer, backend);
            }
        });
    }

    @ParameterizedTest(name = "{0} on {1}")
    @MethodSource("presetsAndBackends")
    void outputAndCoefficientsAreThoseOfTheDefinition(String preset, String name, Backend backend) {
        LayerCase c = layerCase(preset);
        try (MoeLayer layer = PresetLayer.of(c, backend)) {
            LayerChecks.outputAndCoefficients(c, layer, backend);
        }
    }

    @ParameterizedTest
    @MethodSource("presets")
    void everyGradientAgreesWithCentralDifferences(String preset) {
        LayerChecks.gradientsByDifferences(layerCase(preset), referenceGradients(preset));
    }

    @ParameterizedTest(name = "{0} on {1}")
    @MethodSource("presetsAndFastBackends")
    void gradientsAreThoseOfTheReference(String preset, String name, Backend backend) {
        LayerCase c = layerCase(preset);
        try (MoeLayer layer = PresetLayer.of(c, backend)) {
            LayerChecks.sameGradients(c, backend, LayerChecks.gradients(c, layer, backend), referenceGradients(preset));
        }
    }

    /** What would make no difference, if it were ignored, does in the case that is tested here. */
    @ParameterizedTest
    @MethodSource("presets")
    void biasGroupsAndCapacityMatterInTheCase(String preset) {
        LayerCase c = layerCase(preset);
        if (!c.router().selectionBias().isEmpty()) {
            assertThat(c.selectsOtherwise(c.router().withoutSelectionBias()))
                    .as("tokens whose experts the bias changes")
                    .isTrue();
        }
        if (c.router().groups().isPresent()) {
            assertThat(c.selectsOtherwise(c.router().withoutGroups()))
                    .as("tokens whose experts the groups change")
                    .isTrue();
        }
        try (MoeLayer layer = PresetLayer.of(c, ReferenceBackend.instance());
                MoePass pass = layer.forward(c.tokens().on(ReferenceBackend.instance()))) {
            pass.output().close();
            assertThat(pass.droppedAssignments() > 0)
                    .as("assignments dropped")
                    .isEqualTo(c.capacity().isPresent());
        }
    }

    @ParameterizedTest
    @MethodSource("presets")
    void noTokensGiveNoOutputAndZeroGradients(String preset) {
        LayerCase c = withoutTokens(preset);
        ReferenceBackend backend = ReferenceBackend.instance();
        try (MoeLayer layer = PresetLayer.of(c, backend)) {
            LayerChecks.outputAndCoefficients(c, layer, backend);
            LayerChecks.gradients(c, layer, backend)
                    .forEach((name, gradient) ->
                            assertThat(Arrays.stream(gradient)).as(name).allMatch(value -> value == 0));
        }
    }
}
