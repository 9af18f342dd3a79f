package org.moe4j.checkpoint.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.checkpoint.safetensors.ElementType.BOOL;
import static org.moe4j.checkpoint.safetensors.ElementType.F16;
import static org.moe4j.checkpoint.safetensors.ElementType.F32;
import static org.moe4j.checkpoint.safetensors.ElementType.F64;
import static org.moe4j.checkpoint.safetensors.ElementType.I32;
import static org.moe4j.checkpoint.safetensors.ElementType.I64;
import static org.moe4j.checkpoint.safetensors.ElementType.U8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.checkpoint.safetensors.SafetensorsFormatException;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.analysis.RoutingSource;

/** What cannot be a trace is refused with the file, the tensor and the token. */
class TraceFileErrorsTest {
    private static final TraceOptions FOUR = TraceOptions.none().withExperts(4);

    @TempDir
    private Path folder;

    private Path file() {
        return folder.resolve("t.safetensors");
    }

    private void assertNoTrace(Arrays2D content, TraceOptions options, String message) throws IOException {
        content.write(file());
        assertThatThrownBy(() -> TraceFile.open(file(), options))
                .isExactlyInstanceOf(IOException.class)
                .hasMessage(file() + ": " + message);
    }

    private void assertBadOptions(Arrays2D content, TraceOptions options, String message) throws IOException {
        content.write(file());
        assertThatThrownBy(() -> TraceFile.open(file(), options))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message.replace("FILE", file().toString()));
    }

    @Nested
    class Headers {
        @Test
        void aFileCutOffAnywhereIsRefused() throws IOException {
            new Arrays2D().with("topk_index.0", U8, "2,2", 0, 1, 2, 3).write(file());
            byte[] whole = Files.readAllBytes(file());
            for (int length = 0; length < whole.length; length++) {
                Files.write(file(), Arrays.copyOf(whole, length));
                assertThatThrownBy(() -> TraceFile.open(file(), FOUR)).isInstanceOf(SafetensorsFormatException.class);
            }
        }

        @Test
        void whatIsNoFileIsRefused() {
            assertThatThrownBy(() -> TraceFile.open(folder.resolve("none.npy"), FOUR))
                    .isInstanceOf(NoSuchFileException.class);
            assertThatThrownBy(() -> TraceFile.open(folder, FOUR))
                    .hasMessageContaining("expected a file but was a folder");
        }

        @Test
        void aFileOfOtherTensorsIsNoTrace() throws IOException {
            assertNoTrace(
                    new Arrays2D().with("logits", F32, "1", 0),
                    FOUR,
                    "file: expected tensors router_logits.<layer> or topk_index.<layer> but was none");
        }

        @Test
        void typesAndShapesAreChecked() throws IOException {
            assertNoTrace(
                    new Arrays2D().with("topk_index.0", F32, "1,1", 0),
                    FOUR,
                    "topk_index.0: expected one of the types [I64, I32, I16, I8, U8, U16, U32, U64] but was F32");
            assertNoTrace(
                    new Arrays2D().with("router_logits.0", U8, "1,1", 0),
                    FOUR,
                    "router_logits.0: expected one of the types [F64, F32, F16, BF16] but was U8");
            assertNoTrace(
                    new Arrays2D().with("topk_index.0", U8, "1,2,1", 0, 0),
                    FOUR,
                    "topk_index.0: expected shape [tokens, experts] but was [1, 2, 1]");
            assertNoTrace(
                    new Arrays2D().with("topk_index.0", U8, "2,0"),
                    FOUR,
                    "topk_index.0: expected 1..65536 columns (experts) but was shape [2, 0]");
            assertNoTrace(
                    new Arrays2D().with("topk_index.0", U8, "1,65537", new double[65537]),
                    FOUR,
                    "topk_index.0: expected 1..65536 columns (experts) but was shape [1, 65537]");
        }

        @Test
        void layersHaveToAgree() throws IOException {
            assertNoTrace(
                    new Arrays2D().with("topk_index.0", U8, "1,1", 0).with("topk_index.1", U8, "2,1", 0, 0),
                    FOUR,
                    "topk_index.1: expected 1 tokens as in topk_index.0 but was 2");
            assertNoTrace(
                    new Arrays2D().with("topk_index.0", U8, "1,1", 0).with("topk_index.1", U8, "1,2", 0, 1),
                    FOUR,
                    "topk_index.1: expected 1 columns as in topk_index.0 but was 2");
            assertNoTrace(
                    new Arrays2D().with("router_logits.0", F32, "1,1", 0).with("router_logits.1", F32, "1,2", 0, 1),
                    FOUR,
                    "router_logits.1: expected 1 columns as in router_logits.0 but was 2");
            assertNoTrace(
                    new Arrays2D().with("topk_index.0", U8, "1,2", 0, 1).with("topk_weight.0", F32, "1,1", 1),
                    FOUR,
                    "topk_weight.0: expected 2 columns as in topk_index.0 but was 1");
            assertNoTrace(
                    new Arrays2D().with("router_logits.0", F32, "1,2", 0, 1).with("topk_weight.0", F32, "1,1", 1),
                    FOUR,
                    "topk_weight.0: expected topk_index beside it but was absent");
        }

        @Test
        void namesOfLayersAreChecked() throws IOException {
            assertNoTrace(
                    new Arrays2D().with("topk_index.", U8, "1,1", 0),
                    FOUR,
                    "topk_index: expected a layer's name of letters, digits, dots, - and _ but was ");
            assertNoTrace(
                    new Arrays2D().with("topk_index.<b>", U8, "1,1", 0),
                    FOUR,
                    "topk_index: expected a layer's name of letters, digits, dots, - and _ but was <b>");
            assertNoTrace(
                    new Arrays2D().with("topk_index", U8, "1,1", 0).with("topk_index.0", U8, "1,1", 0),
                    FOUR,
                    "topk_index.0: expected either no layer's name in all tensors or one in each but was both");
            Arrays2D many = new Arrays2D();
            for (int layer = 0; layer < 4097; layer++) {
                many.with("topk_index." + layer, U8, "1,1", 0);
            }
            assertNoTrace(many, FOUR, "file: expected at most 4096 layers but was more");
        }

        @Test
        void theFilesNumberOfExpertsIsANumber() throws IOException {
            for (String wrong : new String[] {"", "0", "x", "65537", "9999999999", "-3"}) {
                assertNoTrace(
                        new Arrays2D().withMetadata("moe4j.experts", wrong).with("topk_index.0", U8, "1,1", 0),
                        TraceOptions.none(),
                        "metadata moe4j.experts: expected 1..65536 but was " + wrong);
            }
        }
    }

    @Nested
    class Options {
        /** Where the file itself says how many experts there are, no option is to blame. */
        @Test
        void aFileThatContradictsItselfIsNoTrace() throws IOException {
            assertNoTrace(
                    new Arrays2D().withMetadata("moe4j.experts", "2").with("topk_index.0", U8, "1,3", 0, 1, 2),
                    TraceOptions.none(),
                    "metadata moe4j.experts: expected at least 3 experts (columns of topk_index.0) but was 2");
            assertNoTrace(
                    new Arrays2D().with("router_logits.0", F32, "1,2", 0, 1).with("topk_index.0", U8, "1,3", 0, 1, 2),
                    TraceOptions.none(),
                    "router_logits.0: expected at least 3 experts (columns of topk_index.0) but was 2");
            assertNoTrace(
                    new Arrays2D().withMetadata("moe4j.experts", "8").with("router_logits.0", F32, "1,2", 0, 1),
                    TraceOptions.none().withTopK(1),
                    "metadata moe4j.experts: expected 2 (columns of router_logits.0) but was 8");
        }

        @Test
        void whatTheFileDoesNotSayIsAskedFor() throws IOException {
            assertBadOptions(
                    new Arrays2D().with("topk_index.0", U8, "1,1", 0),
                    TraceOptions.none(),
                    "experts: expected the number of experts, which FILE does not say, but was absent;"
                            + " indices do not tell E");
            assertBadOptions(
                    new Arrays2D().with("router_logits.0", F32, "1,2", 0, 1),
                    TraceOptions.none(),
                    "topK: expected the experts per token, which FILE does not say, but was absent;"
                            + " logits do not tell K");
        }

        @Test
        void whatTheFileSaysIsNotContradicted() throws IOException {
            Arrays2D indices = new Arrays2D().with("topk_index.0", U8, "1,3", 0, 1, 2);
            assertBadOptions(
                    indices,
                    TraceOptions.none().withExperts(2),
                    "experts: expected at least 3 (columns of topk_index.0 of FILE) but was 2");
            assertBadOptions(indices, FOUR.withTopK(2), "topK: expected 3 as in topk_index.0 of FILE but was 2");
            Arrays2D logits = new Arrays2D().with("router_logits.0", F32, "1,2", 0, 1);
            assertBadOptions(logits, FOUR.withTopK(1), "experts: expected 2 as in FILE but was 4");
            assertBadOptions(
                    logits, TraceOptions.none().withTopK(3), "topK: expected 1..2 (experts of FILE) but was 3");
        }

        @Test
        void aRuleNeedsLogitsOfAllLayers() throws IOException {
            RouterConfig rule = RouterConfig.topK(2, 1);
            Arrays2D mixed =
                    new Arrays2D().with("router_logits.0", F32, "1,2", 0, 1).with("topk_index.1", U8, "1,1", 0);
            assertBadOptions(
                    mixed,
                    TraceOptions.none().withConfig(rule),
                    "config: expected none for a trace without logits of all layers (FILE) but was a rule of 1 of 2 experts");
            assertBadOptions(
                    new Arrays2D().with("router_logits.0", F32, "1,2", 0, 1),
                    TraceOptions.none().withConfig(RouterConfig.topK(3, 1)),
                    "config: expected 2 experts (router_logits.0 of FILE) but was 3");
            assertThat(TraceFile.open(mixed.write(file()), TraceOptions.none()).topK())
                    .isEqualTo(1);
        }

        @Test
        void aRuleLooksAtEachTokenAlone() throws IOException {
            new Arrays2D().with("router_logits.0", F32, "1,2", 0, 1).write(file());
            RouterConfig rule = RouterConfig.topK(2, 1).withSelection(new ExpertSelection.Sinkhorn());
            TraceFile trace = TraceFile.open(file(), TraceOptions.none().withConfig(rule));
            assertThatThrownBy(() -> trace.source("0"))
                    .hasMessageContaining("config.selection: expected a rule that looks at each token alone");
        }

        @Test
        void numbersAreChecked() {
            assertThatThrownBy(() -> TraceOptions.none().withTopK(0)).hasMessage("topK: expected at least 1 but was 0");
            assertThatThrownBy(() -> TraceOptions.none().withExperts(0))
                    .hasMessage("experts: expected 1..65536 (experts) but was 0");
            assertThatThrownBy(() -> TraceOptions.none().withTopK(2).withConfig(RouterConfig.topK(4, 1)))
                    .hasMessage("topK: expected 1 experts per token (of the config) but was 2");
        }
    }

    @Nested
    class Numbers {
        private RoutingSource indices(long... values) throws IOException {
            double[] numbers = Arrays.stream(values).asDoubleStream().toArray();
            new Arrays2D()
                    .with("topk_index.7", I64, values.length / 2 + ",2", numbers)
                    .write(file());
            return TraceFile.open(file(), FOUR).source("7");
        }

        private void assertFault(String message, long... values) throws IOException {
            RoutingSource source = indices(values);
            source.block(0, 1);
            assertThatThrownBy(() -> source.block(1, values.length / 2 - 1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(file() + ": topk_index.7: expected " + message);
        }

        @Test
        void indicesAreThoseOfExpertsEachOnce() throws IOException {
            assertFault("0..3 (experts) but was 4 for token 2", 0, 1, 0, 1, 2, 4);
            assertFault("0..3 (experts) but was -1 for token 1", 0, 1, 0, -1);
            assertFault("0..3 (experts) but was 4294967296 for token 1", 0, 1, 1L << 32, 2);
            assertFault("distinct experts of a token but was 3 twice for token 1", 0, 1, 3, 3);
        }

        /** The token is the row of the file, whatever the mask leaves out before it. */
        @Test
        void aFaultBehindAMaskIsInTheFilesRow() throws IOException {
            indices(0, 1, 2, 3, 0, 9);
            Path mask = Arrays2D.numpy(folder.resolve("m.npy"), I32, "3,", 1, 0, 1);
            RoutingSource source = TraceFile.open(file(), FOUR.withMask(mask)).source("7");
            assertThatThrownBy(() -> source.block(0, 2))
                    .hasMessage(file() + ": topk_index.7: expected 0..3 (experts) but was 9 for token 2");
            Path other = Arrays2D.numpy(folder.resolve("m.npy"), I32, "3,", 1, 1, 0);
            TraceFile.open(file(), FOUR.withMask(other)).source("7").block(0, 2);
        }

        @Test
        void logitsAndWeightsAreFinite() throws IOException {
            new Arrays2D()
                    .with("router_logits.0", F16, "2,2", 0, 1, 2, Double.NaN)
                    .with("topk_index.0", U8, "2,1", 0, 1)
                    .with("topk_weight.0", F64, "2,1", 1, Double.POSITIVE_INFINITY)
                    .write(file());
            TraceFile trace = TraceFile.open(file(), TraceOptions.none());
            assertThatThrownBy(() -> trace.logits("0").orElseThrow().read(0, 2, new double[4]))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessage(file() + ": router_logits.0: expected finite values but token 1, column 1 has NaN");
            assertThatThrownBy(() -> trace.routing("0", 1, 1))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessage(file() + ": topk_weight.0: expected finite values but token 1, column 0 has Infinity");
        }
    }

    @Nested
    class Masks {
        private void assertNoMask(Path mask, String message) throws IOException {
            new Arrays2D().with("topk_index.0", U8, "2,1", 0, 1).write(file());
            assertThatThrownBy(() -> TraceFile.open(file(), FOUR.withMask(mask)))
                    .isExactlyInstanceOf(IOException.class)
                    .hasMessage(mask + ": " + message);
        }

        @Test
        void masksHaveAMarkForEachToken() throws IOException {
            Path mask = folder.resolve("m.npy");
            Arrays2D.numpy(mask, U8, "3,", 1, 0, 1);
            assertNoMask(mask, "array: expected shape [2] (tokens of the trace) but was [3]");
            Arrays2D.numpy(mask, U8, "1,2", 1, 0);
            assertNoMask(mask, "array: expected shape [2] (tokens of the trace) but was [1, 2]");
            Arrays2D.numpy(mask, BOOL, "2,", 0, 2);
            assertNoMask(mask, "array: expected marks 0 or 1 but was 2 for token 1");
            Arrays2D.numpy(mask, F32, "2,", 0, 1);
            assertNoMask(mask, "array: expected BOOL or one of [I64, I32, I16, I8, U8, U16, U32, U64] but was F32");
        }

        @Test
        void aMaskIsATensorOfItsName() throws IOException {
            new Arrays2D().with("topk_index.0", U8, "1,1", 0).write(file());
            Path mask = new Arrays2D().with("masks", U8, "1", 1).write(folder.resolve("m.safetensors"));
            assertThatThrownBy(() -> TraceFile.open(file(), FOUR.withMask(mask)))
                    .isInstanceOf(NoSuchElementException.class)
                    .hasMessageContaining("mask; did you mean masks?");
        }
    }
}
