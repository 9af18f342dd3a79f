package org.moe4j.checkpoint.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.LogitSource;
import org.moe4j.router.analysis.RoutingSource;
import org.moe4j.router.trace.RecordedLayer;
import org.moe4j.router.trace.RoutingTrace;

class TraceWriterTest {
    @TempDir
    private Path folder;

    private Path file() {
        return folder.resolve("trace.safetensors");
    }

    private static RoutingSource source(int experts, int topK, double[] values) {
        int[] indices = Arrays.stream(values).mapToInt(d -> (int) d).toArray();
        return RoutingSource.of(Routing.of(experts, topK, indices, new double[indices.length]));
    }

    /** More tokens than the writer's buffer holds, of K that does not divide it. */
    @ParameterizedTest
    @CsvSource({"1,1,I8", "7,7,U8", "60,7,I8", "64,8,U8", "256,3,U8", "300,7,I16", "300,1,I32", "40000,3,I32", "9,5,I64"
    })
    void whatIsWrittenIsReadAgain(int experts, int topK, ElementType type) throws IOException {
        int tokens = 70_000 / Math.min(topK * experts, 700);
        double[] first = Arrays2D.experts(1, tokens, topK, experts);
        double[] second = Arrays2D.experts(2, tokens, topK, experts);
        Map<String, RoutingSource> layers =
                new TreeMap<>(Map.of("0", source(experts, topK, first), "11", source(experts, topK, second)));
        TraceWriter.write(file(), layers, type, Map.of("moe4j.synthetic", "shuffled"));
        TraceFile trace = TraceFile.open(file(), TraceOptions.none());
        assertThat(trace.metadata())
                .containsOnly(
                        Map.entry("moe4j.synthetic", "shuffled"),
                        Map.entry("moe4j.experts", Integer.toString(experts)));
        for (String layer : trace.layers()) {
            double[] expected = layer.equals("0") ? first : second;
            ChosenExperts block = trace.source(layer).block(0, tokens);
            for (int slot = 0; slot < expected.length; slot++) {
                assertThat((double) block.expert(slot)).isEqualTo(expected[slot]);
            }
        }
        try (SafetensorsFile opened = SafetensorsFile.open(file())) {
            assertThat(opened.info("topk_index.0").type()).isEqualTo(type);
            assertThat(opened.info("topk_index.11").shape()).containsExactly((long) tokens, (long) topK);
        }
    }

    @ParameterizedTest
    @CsvSource({"1,U8", "256,U8", "257,I16", "32768,I16", "32769,I32"})
    void theShortestTypeIsTaken(int experts, ElementType type) throws IOException {
        RoutingSource last = source(experts, 1, new double[] {experts - 1});
        TraceWriter.write(file(), Map.of("a", last), Map.of());
        try (SafetensorsFile opened = SafetensorsFile.open(file())) {
            assertThat(opened.info("topk_index.a").type()).isEqualTo(type);
        }
        assertThat(TraceFile.open(file(), TraceOptions.none())
                        .source("a")
                        .block(0, 1)
                        .expert(0))
                .isEqualTo(experts - 1);
    }

    @ParameterizedTest
    @EnumSource(names = {"F64", "F32", "F16", "BF16"})
    void logitsAreReadAgain(ElementType type) throws IOException {
        double[] logits = Arrays2D.logits(1, 12_000, 7); // longer than the writer's buffer
        TraceWriter.writeLogits(file(), Map.of("0", LogitSource.of(7, logits)), type, Map.of());
        TraceFile trace = TraceFile.open(file(), TraceOptions.none().withTopK(2));
        double[] read = new double[logits.length];
        trace.logits("0").orElseThrow().read(0, 12_000, read);
        assertThat(read).containsExactly(logits);
    }

    /** Weights and logits keep their bits, so that a replay from the file is that of the trace. */
    @Test
    void aTraceInMemoryIsReadAgain() throws IOException {
        int tokens = 1000;
        Map<String, RecordedLayer> layers = new TreeMap<>();
        for (int layer = 0; layer < 2; layer++) {
            double[] logits = new Random(layer).doubles(tokens * 7L, -3, 3).toArray();
            Routing routing = RouterConfig.topK(7, 3).routing(logits);
            layers.put(
                    Integer.toString(layer),
                    layer == 0
                            ? RecordedLayer.of(routing)
                            : new RecordedLayer(routing, Optional.of(LogitSource.of(7, logits))));
        }
        TraceWriter.write(file(), RoutingTrace.of(layers), Map.of("model", "none"));
        TraceFile trace = TraceFile.open(file(), TraceOptions.none());
        assertThat(trace.metadata()).containsEntry("model", "none");
        assertThat(trace.layers()).containsExactly("0", "1");
        assertThat(trace.logits("0")).isEmpty();
        double[] read = new double[tokens * 7];
        trace.logits("1").orElseThrow().read(0, tokens, read);
        assertThat(read)
                .containsExactly(new Random(1).doubles(tokens * 7L, -3, 3).toArray());
        for (String layer : trace.layers()) {
            Routing expected = RoutingTrace.of(layers).layer(layer).routing();
            Routing routing = trace.routing(layer, 0, tokens);
            for (int t = 0; t < tokens; t++) {
                for (int rank = 0; rank < 3; rank++) {
                    assertThat(routing.expert(t, rank)).isEqualTo(expected.expert(t, rank));
                    assertThat(routing.weight(t, rank)).isEqualTo(expected.weight(t, rank));
                }
            }
        }
    }

    @Test
    void aFailureLeavesTheOldFile() throws IOException {
        TraceWriter.write(file(), Map.of("0", source(4, 1, new double[] {3})), Map.of());
        byte[] old = Files.readAllBytes(file());
        RoutingSource varying =
                RoutingSource.of(Routing.ofVarying(4, new int[] {0, 2, 3}, new int[] {0, 1, 2}, new double[3]));
        assertThatThrownBy(() -> TraceWriter.write(file(), Map.of("0", varying), Map.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("layer 0: expected 2 experts for each token, as a file has them but was 3 for 2 tokens");
        assertThat(Files.readAllBytes(file())).isEqualTo(old);
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(file());
        }
    }

    private static void assertRefused(Path file, Map<String, RoutingSource> layers, ElementType type, String message) {
        assertThatThrownBy(() -> TraceWriter.write(file, layers, type, Map.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void layersHaveToAgree() {
        RoutingSource one = source(4, 1, new double[] {3});
        Map<String, RoutingSource> layers = new TreeMap<>(Map.of("0", one));
        layers.put("1", source(5, 1, new double[] {3}));
        assertRefused(file(), layers, ElementType.U8, "layer 1: expected 4 experts, as the first layer but was 5");
        layers.put("1", source(4, 1, new double[] {3, 3}));
        assertRefused(file(), layers, ElementType.U8, "layer 1: expected 1 tokens, as the first layer but was 2");
        layers.put("1", source(4, 2, new double[] {3, 2}));
        assertRefused(
                file(), layers, ElementType.U8, "layer 1: expected 1 experts per token, as the first layer but was 2");
    }

    @Test
    void whatAFileCannotHoldIsRefused() {
        RoutingSource one = source(300, 1, new double[] {3});
        Path file = file();
        assertRefused(file, Map.of(), ElementType.U8, "layers: expected at least 1 layer but was none");
        assertRefused(
                file,
                Map.of("a/b", one),
                ElementType.I32,
                "layers: expected names of letters, digits, dots, - and _ but was \"a/b\"");
        assertRefused(
                file, Map.of("0", one), ElementType.U8, "experts: expected 1..256 (experts that U8 holds) but was 300");
        assertRefused(
                file, Map.of("0", one), ElementType.I8, "experts: expected 1..128 (experts that I8 holds) but was 300");
        assertRefused(
                file, Map.of("0", one), ElementType.F32, "type: expected one of [I64, I32, I16, I8, U8] but was F32");
        assertRefused(
                file,
                Map.of("0", source(70_000, 1, new double[] {0})),
                ElementType.I32,
                "layer 0: expected 1..65536 (experts) but was 70000");
        RoutingSource none = RoutingSource.of(Routing.ofVarying(4, new int[] {0, 0}, new int[0], new double[0]));
        assertRefused(file, Map.of("0", none), ElementType.U8, "layer 0: expected 1..4 (experts per token) but was 0");
        assertThatThrownBy(() -> TraceWriter.writeLogits(
                        file, Map.of("0", LogitSource.of(1, new double[] {1e9})), ElementType.F16, Map.of()))
                .hasMessageContaining("router_logits.0: expected numbers that are finite as F16");
    }
}
