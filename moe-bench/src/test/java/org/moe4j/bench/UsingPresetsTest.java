package org.moe4j.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.layer.Coefficients;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.preset.Preset;

/** The program of docs/using.md that makes a layer of a preset makes what the preset says, of every file. */
class UsingPresetsTest extends UsingPage {
    private static final int TOKENS = 200;

    @TempDir
    Path folder;

    static Stream<String> presets() {
        return Preset.names().stream();
    }

    private static MoeLayer small(Preset preset) throws ReflectiveOperationException {
        return layer(preset.scaledTo(HIDDEN, 8));
    }

    private Preset file(String... lines) throws IOException {
        String head = """
                name = A
                source = this test
                experts.count = 8
                experts.hiddenSize = 16
                experts.intermediateSize = 8
                router.topK = 2
                router.renormalization = sum
                """;
        return Preset.load(Files.writeString(folder.resolve("a.properties"), head + String.join("\n", lines)));
    }

    /** Σ r of a token. */
    private static double routed(MoePass pass, int token) {
        Coefficients coefficients = pass.coefficients();
        return IntStream.range(0, pass.routing().count(token))
                .mapToDouble(rank -> coefficients.routed(token, rank))
                .sum();
    }

    @ParameterizedTest
    @MethodSource("presets")
    void everyPresetGivesALayerWithItsPartsAndNoOthers(String name) throws Exception {
        Preset preset = Preset.named(name);
        TreeSet<String> expected = new TreeSet<>(List.of("router.weight"));
        if (preset.section("router").flag("logitBias", false)) {
            expected.add("router.bias");
        }
        for (int i = 0; i < preset.section("experts").integer("count"); i++) {
            expected.addAll(expert("experts." + i, preset));
        }
        if (preset.section("shared").has("count")) { // no file keeps them apart
            expected.addAll(expert("shared.0", preset));
        }
        if (preset.section("experts").has("latentSize")) {
            expected.addAll(List.of("latent.down", "latent.up"));
        }
        if (preset.section("merge").text("convention", "").equals("sigmoid-gated")) {
            expected.add("merge.gate");
        }
        try (MoeLayer layer = small(preset);
                Matrix tokens = Initializer.normal(1).draw(BACKEND, TOKENS, HIDDEN, 5);
                MoePass pass = layer.forward(tokens);
                Matrix output = pass.output();
                Parameters parameters = layer.parameters()) {
            assertThat(new TreeSet<>(parameters.names())).isEqualTo(expected);
            assertThat(Arrays.stream(output.toArray()).map(Math::abs).sum()).isPositive();
            // 200 tokens fill experts unevenly: those that may take little more than the even share drop some; a
            // minimum of
            // rows may be enough
            if (!preset.section("capacity").has("minimum")) {
                boolean limited = !preset.section("capacity").isEmpty();
                assertThat(pass.droppedAssignments() > 0).as("drops").isEqualTo(limited);
            }
        }
    }

    private static List<String> expert(String name, Preset preset) {
        boolean gated = preset.section("experts").text("activation", "swiglu").endsWith("swiglu");
        boolean biases = preset.section("experts").flag("biases", false);
        return Stream.of("gate", "up", "down")
                .filter(matrix -> gated || !matrix.equals("gate"))
                .flatMap(matrix -> biases ? Stream.of(matrix, matrix + "Bias") : Stream.of(matrix))
                .map(matrix -> name + "." + matrix)
                .toList();
    }

    /** Σ r and s, where the published rule makes them constant. */
    @ParameterizedTest
    @CsvSource({
        "mixtral-8x7b, 1, -1", // renormalised, no shared expert
        "olmo-study, 4, 1", // Equation 83 of the report: r = K·p
        "olmo-core-main, -1, 0.2", // the mean of K + 1 = 5 experts
        "deepseek-v3, 2.5, 1", // routed_scaling_factor
        "kimi-k2, 2.827, 1" // routed_scaling_factor
    })
    void coefficientsAreThePublishedOnes(String name, double routed, double shared) throws Exception {
        try (MoeLayer layer = small(Preset.named(name));
                Matrix tokens = Initializer.normal(1).draw(BACKEND, TOKENS, HIDDEN, 5);
                MoePass pass = layer.forward(tokens)) {
            pass.output().close();
            for (int t = 0; t < TOKENS; t++) {
                if (routed > 0) {
                    assertThat(routed(pass, t)).isCloseTo(routed, within(1e-12));
                }
                if (shared > 0) {
                    assertThat(pass.coefficients().shared(t, 0)).isCloseTo(shared, within(1e-12));
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"qwen1.5-moe-a2.7b", "qwen2-57b-a14b", "qwen3-next-80b-a3b", "qwen3.5-35b-a3b"})
    void aGateIsBetweenNoneAndAllOfTheSharedExpert(String name) throws Exception {
        try (MoeLayer layer = small(Preset.named(name));
                Matrix tokens = Initializer.normal(1).draw(BACKEND, TOKENS, HIDDEN, 5);
                MoePass pass = layer.forward(tokens)) {
            pass.output().close();
            List<Double> shared = IntStream.range(0, TOKENS)
                    .mapToDouble(t -> pass.coefficients().shared(t, 0))
                    .boxed()
                    .toList();
            assertThat(shared).allMatch(s -> s > 0 && s < 1);
            assertThat(shared).anyMatch(s -> s < 0.5).anyMatch(s -> s > 0.5);
        }
    }

    @Test
    void aFactorOfTheRoutedOutputNeedsNoSharedExpert() throws Exception {
        Preset preset = file("merge.convention = scaled", "merge.routedScale = 1.5");
        try (MoeLayer layer = small(preset);
                Matrix tokens = Initializer.normal(1).draw(BACKEND, 3, HIDDEN, 5);
                MoePass pass = layer.forward(tokens)) {
            pass.output().close();
            assertThat(layer.shared().orElseThrow().experts()).isEmpty();
            assertThat(routed(pass, 2)).isCloseTo(1.5, within(1e-12));
        }
    }

    @Test
    void sharedExpertsApartHaveABankEach() throws Exception {
        Preset preset = file(
                "shared.count = 3",
                "shared.intermediateSize = 4",
                "shared.apart = true",
                "merge.convention = shared-router");
        try (MoeLayer layer = small(preset);
                Matrix tokens = Initializer.normal(1).draw(BACKEND, 3, HIDDEN, 5);
                MoePass pass = layer.forward(tokens)) {
            pass.output().close();
            assertThat(layer.shared().orElseThrow().experts()).hasSize(3);
            Coefficients c = pass.coefficients();
            assertThat(c.shared(2, 0) + c.shared(2, 1) + c.shared(2, 2)).isCloseTo(1, within(1e-12)); // a softmax
        }
    }

    @Test
    void sharedExpertsWithoutAMergeAreRefused() throws Exception {
        Preset preset = file("shared.count = 1", "shared.intermediateSize = 4");
        assertThatThrownBy(() -> small(preset))
                .isInstanceOf(InvocationTargetException.class)
                .cause()
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("merge.convention");
    }

    @Test
    void aLatentPresetHasProjectionsAndWeightsOnTheInput() throws Exception {
        Preset latent = file("experts.latentSize = 4", "experts.weightPlace = output");
        try (MoeLayer layer = small(latent)) {
            assertThat(layer.parameters().names()).contains("latent.down", "latent.up");
            assertThat(layer.parameters().get("experts.0.gate").columns()).isEqualTo(4);
            assertThat(layer.weightPlace()).isEqualTo(WeightPlace.OUTPUT);
        }
        assertThatThrownBy(() -> small(file("experts.weightPlace = input")))
                .cause()
                .hasMessageContaining("experts.weightPlace")
                .hasMessageContaining("router.topK = 2");
    }
}
