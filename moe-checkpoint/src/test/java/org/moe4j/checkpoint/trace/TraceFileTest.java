package org.moe4j.checkpoint.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.stream.IntStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.ExpertLoad;
import org.moe4j.router.analysis.LogitSource;
import org.moe4j.router.analysis.RoutingSource;

class TraceFileTest {
    private static final int TOKENS = 9001; // more than two blocks of a mask
    private static final int TOP_K = 3;
    private static final int EXPERTS = 100;

    @TempDir
    private Path folder;

    private Path file() {
        return folder.resolve("trace.safetensors");
    }

    private static String shape(int rows, int columns) {
        return rows + "," + columns;
    }

    private static void assertExperts(RoutingSource source, double[] expected, int topK) {
        long tokens = expected.length / topK;
        assertThat(source.tokens()).isEqualTo(tokens);
        assertThat(source.topK()).isEqualTo(topK);
        Random random = new Random(3);
        for (int i = 0; i < 20; i++) {
            int from = i == 0 ? 0 : random.nextInt((int) tokens + 1);
            int count = i == 0 ? (int) tokens : random.nextInt((int) tokens - from + 1);
            ChosenExperts block = source.block(from, count);
            assertThat(block.tokens()).isEqualTo(count);
            for (int t = 0; t < count; t++) {
                assertThat(block.end(t) - block.start(t)).isEqualTo(topK);
                for (int rank = 0; rank < topK; rank++) {
                    assertThat((double) block.expert(block.start(t) + rank))
                            .isEqualTo(expected[(from + t) * topK + rank]);
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"I64", "I32", "I16", "I8", "U8", "U16", "U32", "U64"})
    void indicesOfEveryTypeAreTheExperts(ElementType type) throws IOException {
        double[] first = Arrays2D.experts(1, TOKENS, TOP_K, EXPERTS);
        double[] second = Arrays2D.experts(2, TOKENS, TOP_K, EXPERTS);
        new Arrays2D()
                .with("topk_index.4", type, shape(TOKENS, TOP_K), first)
                .with("something.else", ElementType.F32, "1", 5)
                .with("topk_index.12", type, shape(TOKENS, TOP_K), second)
                .write(file());
        TraceFile trace = TraceFile.open(file(), TraceOptions.none().withExperts(EXPERTS));
        assertThat(trace.layers()).containsExactly("4", "12");
        assertThat(trace.tokens()).isEqualTo(TOKENS);
        assertThat(trace.topK()).isEqualTo(TOP_K);
        assertThat(trace.experts()).isEqualTo(EXPERTS);
        assertThat(trace.logits("4")).isEmpty();
        assertThat(trace.hasWeights("4")).isFalse();
        assertThat(trace.path()).isEqualTo(file());
        assertThat(trace).hasToString(file() + ": 2 layers, 9001 tokens, top 3 of 100 experts");
        RoutingSource one = trace.source("4");
        RoutingSource other = trace.source("12");
        assertExperts(one, first, TOP_K);
        assertExperts(other, second, TOP_K);
        assertThat(one.experts()).isEqualTo(EXPERTS);
    }

    @Test
    void aTraceMayHaveNoTokens() throws IOException {
        new Arrays2D()
                .with("topk_index.0", ElementType.U8, "0,2")
                .with("router_logits.0", ElementType.F32, "0,8")
                .write(file());
        TraceFile none = TraceFile.open(file(), TraceOptions.none());
        assertThat(none.tokens()).isZero();
        assertThat(none.experts()).isEqualTo(8);
        assertThat(none.topK()).isEqualTo(2);
        assertThat(ExpertLoad.of(none.source("0")).assignments()).isZero();
        none.logits("0").orElseThrow().read(0, 0, new double[0]);
        Path again = file().resolveSibling("again.safetensors");
        TraceWriter.write(again, Map.of("0", none.source("0")), Map.of());
        assertThat(TraceFile.open(again, TraceOptions.none()).tokens()).isZero();
    }

    @Test
    void aMaskMayLeaveOutAllTokens() throws IOException {
        new Arrays2D().with("topk_index.0", ElementType.U8, "2,1", 0, 3).write(file());
        Path mask = file().resolveSibling("mask.npy");
        Arrays2D.numpy(mask, ElementType.U8, "2,", 0, 0);
        TraceFile none =
                TraceFile.open(file(), TraceOptions.none().withExperts(4).withMask(mask));
        assertThat(none.tokens()).isZero();
        assertThat(none.source("0").block(0, 0).slots()).isZero();
    }

    @ParameterizedTest
    @EnumSource(names = {"F64", "F32", "F16", "BF16"})
    void logitsOfEveryTypeGiveTheLargest(ElementType type) throws IOException {
        double[] logits = Arrays2D.logits(1, 50, 8);
        new Arrays2D().with("router_logits.0", type, "50,8", logits).write(file());
        TraceFile trace = TraceFile.open(file(), TraceOptions.none().withTopK(2));
        double[] read = new double[logits.length];
        LogitSource source = trace.logits("0").orElseThrow();
        assertThat(source.experts()).isEqualTo(8);
        assertThat(source.tokens()).isEqualTo(50);
        source.read(0, 50, read);
        assertThat(read).containsExactly(logits);
        assertExperts(trace.source("0"), largest(logits, 8, 2), 2);
        Routing routing = trace.routing("0", 7, 5);
        Routing expected = RouterConfig.topK(8, 2).routing(Arrays.copyOfRange(logits, 7 * 8, 12 * 8));
        for (int t = 0; t < 5; t++) {
            for (int rank = 0; rank < 2; rank++) {
                assertThat(routing.expert(t, rank)).isEqualTo(expected.expert(t, rank));
                assertThat(routing.weight(t, rank)).isEqualTo(expected.weight(t, rank));
            }
        }
        assertThat(trace.hasWeights("0")).isTrue();
    }

    /** By descending logit, then by index. */
    private static double[] largest(double[] logits, int experts, int topK) {
        List<Double> chosen = new ArrayList<>();
        for (int t = 0; t < logits.length / experts; t++) {
            int row = t * experts;
            IntStream.range(0, experts)
                    .boxed()
                    .sorted(Comparator.comparingDouble((Integer e) -> -logits[row + e])
                            .thenComparing(e -> e))
                    .limit(topK)
                    .forEach(e -> chosen.add((double) e));
        }
        return chosen.stream().mapToDouble(d -> d).toArray();
    }

    @Test
    void aRuleTakesTheLogitsAlsoWhereIndicesWereRecorded() throws IOException {
        double[] logits = Arrays2D.logits(1, 20, 8);
        double[] recorded = Arrays2D.experts(1, 20, 2, 8);
        new Arrays2D()
                .with("router_logits", ElementType.F64, "20,8", logits)
                .with("topk_index", ElementType.I64, "20,2", recorded)
                .write(file());
        assertExperts(TraceFile.open(file(), TraceOptions.none()).source("0"), recorded, 2);
        assertExperts(TraceFile.open(file(), TraceOptions.none().withTopK(2)).source("0"), recorded, 2);
        RouterConfig rule = RouterConfig.topK(8, 3).withRenormalization(new Renormalization.SoftmaxOfSelected());
        TraceFile byRule = TraceFile.open(file(), TraceOptions.none().withConfig(rule));
        assertThat(byRule.topK()).isEqualTo(3);
        assertExperts(byRule.source("0"), largest(logits, 8, 3), 3);
        Routing weighed = byRule.routing("0", 0, 1);
        assertThat(weighed.weight(0, 0) + weighed.weight(0, 1) + weighed.weight(0, 2))
                .isCloseTo(1, within());
    }

    private static Offset<Double> within() {
        return Offset.offset(1e-15); // a sum of three
    }

    /** As {@code moe run} writes a layer, with tensors that do not matter here. */
    @Test
    void aLayerWithoutANameIsRead() throws IOException {
        new Arrays2D()
                .with("output", ElementType.F32, "2,1", 0, 1)
                .with("router_logits", ElementType.F32, "2,4", 0, 1, 2, 3, 3, 2, 1, 0)
                .with("topk_index", ElementType.I64, "2,2", 3, 2, 0, 1)
                .with("topk_weight", ElementType.F32, "2,2", 0.75, 0.25, 0.5, 0.125)
                .write(file());
        TraceFile trace = TraceFile.open(file(), TraceOptions.none());
        assertThat(trace.layers()).containsExactly("0");
        assertThat(trace.experts()).isEqualTo(4);
        assertExperts(trace.source("0"), new double[] {3, 2, 0, 1}, 2);
        Routing routing = trace.routing("0", 1, 1);
        assertThat(routing.expert(0, 1)).isEqualTo(1);
        assertThat(routing.weight(0, 0)).isEqualTo(0.5);
        assertThat(routing.weight(0, 1)).isEqualTo(0.125);
        assertThat(trace.hasWeights("0")).isTrue();
    }

    @Test
    void layersAreSortedByTheNumbersInTheirNames() {
        assertThat(TraceFormat.sorted(List.of("10", "9", "010", "99999999999999999999999")))
                .containsExactly("9", "010", "10", "99999999999999999999999");
        assertThat(TraceFormat.sorted(List.of("10", "9", "mtp"))).containsExactly("9", "10", "mtp");
        assertThat(TraceFormat.sorted(List.of("model.layers.10.mlp", "model.layers.9.mlp", "model.layers.2.mlp")))
                .containsExactly("model.layers.2.mlp", "model.layers.9.mlp", "model.layers.10.mlp");
        assertThat(TraceFormat.sorted(List.of("b2a11", "b2a9", "b10", "b2", "b", "b2a", "-1", "a")))
                .containsExactly("-1", "a", "b", "b2", "b2a", "b2a9", "b2a11", "b10");
    }

    @Test
    void theFilesOwnNumberOfExpertsIsTaken() throws IOException {
        new Arrays2D()
                .withMetadata("moe4j.experts", "5")
                .with("topk_index.a", ElementType.U8, "1,2", 4, 0)
                .write(file());
        TraceFile trace = TraceFile.open(file(), TraceOptions.none());
        assertThat(trace.experts()).isEqualTo(5);
        assertThat(trace.metadata()).containsEntry("moe4j.experts", "5");
        assertThat(TraceFile.open(file(), TraceOptions.none().withExperts(5)).experts())
                .isEqualTo(5);
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.001, 0.3, 0.5, 0.99, 1})
    void maskedTokensAreLeftOut(double share) throws IOException {
        double[] all = Arrays2D.experts(1, TOKENS, TOP_K, EXPERTS);
        double[] logits = Arrays2D.logits(2, TOKENS, 4);
        Random random = new Random(5);
        double[] marks = random.doubles(TOKENS).map(d -> d < share ? 1 : 0).toArray();
        marks[4096] = 1;
        Path mask = new Arrays2D()
                .with("mask", ElementType.U8, Integer.toString(TOKENS), marks)
                .write(folder.resolve("mask.safetensors"));
        Path numpyMask = Arrays2D.numpy(folder.resolve("mask.npy"), ElementType.BOOL, TOKENS + ",", marks);
        new Arrays2D()
                .with("topk_index.0", ElementType.U8, shape(TOKENS, TOP_K), all)
                .write(file());
        Path ofLogits = Arrays2D.numpy(folder.resolve("logits.npy"), ElementType.F32, shape(TOKENS, 4), logits);
        double[] kept = IntStream.range(0, all.length)
                .filter(i -> marks[i / TOP_K] == 1)
                .mapToDouble(i -> all[i])
                .toArray();
        double[] keptLogits = IntStream.range(0, logits.length)
                .filter(i -> marks[i / 4] == 1)
                .mapToDouble(i -> logits[i])
                .toArray();
        for (Path each : List.of(mask, numpyMask)) {
            TraceOptions options = TraceOptions.none().withExperts(EXPERTS).withMask(each);
            assertExperts(TraceFile.open(file(), options).source("0"), kept, TOP_K);
            TraceFile masked =
                    TraceFile.open(ofLogits, TraceOptions.none().withTopK(1).withMask(each));
            double[] read = new double[keptLogits.length];
            masked.logits("0").orElseThrow().read(0, (int) masked.tokens(), read);
            assertThat(read).containsExactly(keptLogits);
        }
    }

    @Test
    void anUnknownLayerIsNamed() throws IOException {
        new Arrays2D().with("topk_index.first", ElementType.U8, "1,1", 0).write(file());
        TraceFile trace = TraceFile.open(file(), TraceOptions.none().withExperts(1));
        assertThatThrownBy(() -> trace.source("fist"))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessage(file() + ": expected one of the layers [first] but was fist; did you mean first?");
        assertThatThrownBy(() -> trace.source("first").block(1, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> trace.routing("first", 0, 2)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> trace.routing("first", 0, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("layer first: expected a tensor topk_weight beside topk_index but was absent");
    }
}
