package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.checkpoint.block.MoeBlock;
import org.moe4j.checkpoint.block.MoeBlockPass;
import org.moe4j.checkpoint.block.RmsNorm;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;
import org.moe4j.checkpoint.safetensors.SafetensorsWriter;
import org.moe4j.checkpoint.safetensors.TensorStore;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;

/** The layer in its block: norms and residual. */
class BlockTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    @TempDir
    private Path folder;

    static List<String> names() {
        return Fixture.names();
    }

    @ParameterizedTest
    @MethodSource("names")
    void aBlockGivesWhatTheDefinitionGives(String name) throws IOException {
        Fixture fixture = Fixture.named(name);
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(fixture.folder());
                MoeBlock block = checkpoint.block(fixture.layer(), BACKEND);
                Matrix hidden = matrix(fixture, "hidden_states");
                MoeBlockPass pass = block.forward(hidden);
                Matrix output = pass.output()) {
            FixtureTest.assertNear(output.toArray(), fixture.expected("residual_output"));
            double[] experts = fixture.expected("residual_topk_index");
            Routing routing = pass.layerPass().routing();
            int k = experts.length / routing.tokens();
            for (int slot = 0; slot < experts.length; slot++) {
                assertThat((double) routing.expert(slot / k, slot % k)).isEqualTo(experts[slot]);
            }
        }
    }

    /** A norm behind, norms on both sides, a weight less one; raw weights, and a gated shared expert. */
    @ParameterizedTest
    @ValueSource(strings = {"olmo-hf", "olmo-hf-sigmoid", "qwen3-next", "olmoe"})
    void gradientsAreThoseOfDifferences(String name) throws IOException {
        Fixture fixture = Fixture.named(name);
        double[] x = fixture.expected("hidden_states");
        double[] dY = fixture.expected("d_output");
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(fixture.folder());
                MoeBlock block = checkpoint.block(fixture.layer(), BACKEND);
                Matrix hidden = matrix(fixture, "hidden_states");
                Matrix dOutput = matrix(fixture, "d_output");
                MoeBlockPass pass = block.forward(hidden);
                Gradients gradients = pass.backward(dOutput);
                Parameters parameters = block.parameters()) {
            assertThat(gradients.parameters().names()).containsExactlyElementsOf(parameters.names());
            double[] ofHidden = FiniteDifferences.gradient(at -> loss(block, at, hidden.columns(), dY), x);
            double largest = FiniteDifferences.norm(ofHidden);
            assertNear(gradients.input(), ofHidden, largest);
            for (String norm : List.of("norm.before", "norm.behind")) {
                if (parameters.names().contains(norm)) {
                    double[] weight = parameters.get(norm).toArray();
                    double[] ofWeight = FiniteDifferences.gradient(at -> lossWith(block, norm, at, x, dY), weight);
                    assertNear(
                            gradients.parameters().get(norm),
                            ofWeight,
                            Math.max(largest, FiniteDifferences.norm(ofWeight)));
                }
            }
        }
    }

    private static void assertNear(Matrix actual, double[] expected, double norm) {
        assertThat(FiniteDifferences.worst(actual.toArray(), expected, norm)).isLessThanOrEqualTo(1);
    }

    private static double lossWith(MoeBlock block, String name, double[] weight, double[] x, double[] dY) {
        boolean before = name.equals("norm.before");
        RmsNorm old = (before ? block.before() : block.behind()).orElseThrow();
        try (Matrix row = BACKEND.matrix(1, weight.length, weight);
                RmsNorm norm = RmsNorm.of(row, old.epsilon(), old.offset())) {
            return loss(before ? block.withNormBefore(norm) : block.withNormBehind(norm), x, weight.length, dY);
        }
    }

    private static double loss(MoeBlock block, double[] x, int width, double[] dY) {
        try (Matrix hidden = BACKEND.matrix(x.length / width, width, x);
                MoeBlockPass pass = block.forward(hidden);
                Matrix output = pass.output()) {
            double[] y = output.toArray();
            double loss = 0;
            for (int i = 0; i < y.length; i++) {
                loss += y[i] * dY[i];
            }
            return loss;
        }
    }

    /** The weight of a norm goes under its stored name where its gradient is given, and only there. */
    @ParameterizedTest
    @ValueSource(strings = {"olmo-hf-sigmoid", "qwen3.5-moe"})
    void gradientsOfNormsHaveStoredNames(String name) throws IOException {
        Fixture fixture = Fixture.named(name);
        Path file = folder.resolve("block.safetensors");
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(fixture.folder());
                MoeBlock block = checkpoint.block(fixture.layer(), BACKEND);
                Parameters values = block.parameters()) {
            SafetensorsWriter.write(file, checkpoint.contents(fixture.layer(), "", ElementType.F64, values), Map.of());
        }
        try (SafetensorsFile written = SafetensorsFile.open(file);
                TensorStore store = TensorStore.open(fixture.folder())) {
            for (String side : List.of("before", "after")) {
                if (!fixture.facts().at("/norm/" + side).isNull()) {
                    String norm = fixture.facts().at("/norm/" + side).asText();
                    double[] stored = new double[(int) store.info(norm).elements()];
                    store.tensor(norm).read(0, stored, 0, stored.length);
                    assertThat(Fixture.values(written, norm)).isEqualTo(stored);
                }
            }
        }
    }

    private static Matrix matrix(Fixture fixture, String name) throws IOException {
        double[] values = fixture.expected(name);
        int tokens = fixture.facts().get("tokens").asInt();
        return BACKEND.matrix(tokens, values.length / tokens, Arrays.copyOf(values, values.length));
    }
}
