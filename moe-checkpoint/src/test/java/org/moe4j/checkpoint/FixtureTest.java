package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;
import org.moe4j.checkpoint.safetensors.SafetensorsWriter;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.router.TopKPass;

class FixtureTest {
    @TempDir
    private Path folder;

    private static final Backend BACKEND = ReferenceBackend.instance();

    static List<String> names() {
        return Fixture.names();
    }

    @ParameterizedTest
    @MethodSource("names")
    void aLayerGivesWhatTheDefinitionGives(String name) throws IOException {
        Fixture fixture = Fixture.named(name);
        double[] tokens = fixture.expected("hidden_states");
        double[] dOutput = fixture.expected("d_output");
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(fixture.folder());
                MoeLayer layer = checkpoint.layer(fixture.layer(), BACKEND)) {
            int width = tokens.length / fixture.facts().get("tokens").asInt();
            try (Matrix x = BACKEND.matrix(tokens.length / width, width, tokens);
                    Matrix dY = BACKEND.matrix(tokens.length / width, width, dOutput);
                    MoePass pass = layer.forward(x);
                    Matrix output = pass.output();
                    Gradients gradients = pass.backward(dY)) {
                assertNear(output.toArray(), fixture.expected("output"));
                assertRouting(pass, fixture.expected("topk_index"), fixture.expected("topk_weight"));
                assertNear(((TopKPass) pass.routerPass()).logits(), fixture.expected("router_logits"));
                assertNear(gradients.input().toArray(), fixture.expected("d_hidden_states"));
                assertGradients(fixture, checkpoint, gradients.parameters());
            }
        }
    }

    /** Every gradient under the name and in the layout of its tensor, through a file. */
    private void assertGradients(Fixture fixture, MoeCheckpoint checkpoint, Parameters gradients) throws IOException {
        Path file = folder.resolve("gradients.safetensors");
        SafetensorsWriter.write(
                file, checkpoint.contents(fixture.layer(), "grad.", ElementType.F64, gradients), Map.of());
        try (SafetensorsFile written = SafetensorsFile.open(file);
                SafetensorsFile expected = SafetensorsFile.open(fixture.folder().resolve("expected.safetensors"))) {
            Set<String> names = new TreeSet<>(expected.tensors().keySet());
            names.removeIf(name -> !name.startsWith("grad."));
            assertThat(written.tensors().keySet()).containsExactlyInAnyOrderElementsOf(names);
            for (String name : names) {
                assertThat(written.info(name).shape())
                        .isEqualTo(expected.info(name).shape());
                assertNear(Fixture.values(written, name), Fixture.values(expected, name));
            }
        }
    }

    /** Slot by slot, with what multiplies the expert's output in the end: the routing weight times the merge's factor. */
    private static void assertRouting(MoePass pass, double[] experts, double[] weights) {
        Routing routing = pass.routing();
        int k = experts.length / routing.tokens();
        double[] actual = new double[experts.length];
        for (int t = 0; t < routing.tokens(); t++) {
            assertThat(routing.count(t)).isEqualTo(k);
            for (int i = 0; i < k; i++) {
                assertThat((double) routing.expert(t, i)).isEqualTo(experts[t * k + i]);
                actual[t * k + i] = pass.coefficients().routed(t, i);
            }
        }
        assertNear(actual, weights);
    }

    static void assertNear(double[] actual, double[] expected) {
        Tolerance.assertWithinMaxNorm("numbers", actual, expected, 1e-12);
    }
}
