package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.checkpoint.RewriteOperation.AbsorbRoutedScale;
import org.moe4j.checkpoint.RewriteOperation.CollapseShared;
import org.moe4j.checkpoint.RewriteOperation.SplitShared;
import org.moe4j.checkpoint.RewriteOperation.StoreAs;
import org.moe4j.checkpoint.RewriteOperation.ToConvention;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.checkpoint.safetensors.ElementType;

/** What is refused, in which words, and that nothing stays behind. */
class RewriteErrorsTest {
    @TempDir
    private Path folder;

    private void refused(Class<? extends Exception> type, String message, Path from, RewriteOperation... operations)
            throws IOException {
        Path out = folder.resolve("out");
        try (MoeCheckpoint original = MoeCheckpoint.open(from)) {
            assertThatThrownBy(() -> CheckpointRewrite.write(original, List.of(operations), out, () -> {}))
                    .isInstanceOf(type)
                    .hasMessage(message);
        }
        assertThat(Folders.files(folder)).doesNotContain("out").noneMatch(name -> name.endsWith(".tmp"));
    }

    private void refused(String fixture, String message, RewriteOperation... operations) throws IOException {
        Path from = Fixture.root().resolve(fixture);
        refused(IllegalArgumentException.class, from + ": " + message, from, operations);
    }

    @Test
    void aFamilyWithoutARoutedScaleHasNoneToAbsorb() throws IOException {
        refused(
                "mixtral",
                "absorb-routed-scale: expected a family whose config.json has a routed scale but was Mixtral",
                new AbsorbRoutedScale());
        refused(
                "deepseek-v2-lite",
                "absorb-routed-scale: expected a routed scale other than 1 but was 1.0; there is nothing to absorb",
                new AbsorbRoutedScale());
    }

    @Test
    void aConventionHasToBeOneThatTheConfigurationCanSay() throws IOException {
        refused(
                "olmo-hf",
                "to-convention: expected one of [olmo, routed-unit-sum], which config.json of Olmo MoE can say but was"
                        + " equal-branch-mass",
                new ToConvention("equal-branch-mass"));
        refused(
                "olmo-hf",
                "to-convention: expected another convention than that of the layers but was olmo; there is nothing to"
                        + " change",
                new ToConvention("olmo"));
        refused(
                "deepseek-v3",
                "to-convention: expected a family whose config.json has a key for its merge convention but was"
                        + " DeepSeek-V3",
                new ToConvention("olmo"));
    }

    @Test
    void aGateIsNoPartOfADownProjection() throws IOException {
        refused(
                "qwen2-moe",
                "to-convention: expected a merge of fixed factors but was sigmoid-gated (Qwen2-MoE); a gate depends on"
                        + " the tokens and is no part of a down projection",
                new ToConvention("olmo"));
    }

    @Test
    void aConventionPresumesWeightsThatSumToOneWithoutAScale() throws IOException {
        refused(
                "olmo-hf-sigmoid",
                "to-convention: expected routing weights that sum to 1, as a convention presumes but was renormalization"
                        + " norm",
                new ToConvention("routed-unit-sum"));
        Path from = ChangedFixture.of("olmo-hf")
                .config(config -> config.put("original_num_experts_per_tok", 8))
                .write(folder.resolve("from"));
        refused(
                IllegalArgumentException.class,
                from + ": to-convention: expected a router without a scale but was 2.0; absorb-routed-scale first",
                from,
                new ToConvention("routed-unit-sum"));
    }

    @Test
    void sharedExpertsAreStoredAsOneEverywhere() throws IOException {
        refused(
                "deepseek-v2",
                "collapse-shared: expected a family that stores shared experts one by one but was DeepSeek-V2, which"
                        + " stores one of width 24",
                new CollapseShared());
        refused(
                "olmoe",
                "split-shared: expected a family that stores shared experts one by one but was OLMoE without a shared"
                        + " expert",
                new SplitShared(List.of(4, 4)));
        for (String name : Fixture.names()) {
            Path from = Fixture.root().resolve(name);
            for (RewriteOperation operation : List.of(new CollapseShared(), new SplitShared(List.of(1, 2)))) {
                try (MoeCheckpoint original = MoeCheckpoint.open(from)) {
                    assertThatThrownBy(() -> CheckpointRewrite.write(
                                    original, List.of(operation), folder.resolve("out"), () -> {}))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageStartingWith(from + ": " + operation.name()
                                    + ": expected a family that stores shared experts one by one but was ");
                }
            }
        }
    }

    @Test
    void numbersOfEightBitsAreNotScaled() throws IOException {
        refused(
                "deepseek-v3-fp8",
                "model.layers.1.mlp.experts.0.down_proj.weight: expected numbers of at least 16 bits, or dtype as"
                        + " another operation, but was F8_E4M3",
                new AbsorbRoutedScale());
    }

    @Test
    void fourBitsAreDecodedOnlyWhereTheFamilyHasAFormForThat() throws IOException {
        refused(
                "gpt-oss-original",
                "dtype: expected a layout that has experts in more than 4 bits but was gpt-oss-original",
                new StoreAs(ElementType.BF16));
    }

    @Test
    void whatDoesNotFitTheTypeIsNamed() throws IOException {
        Path from = ChangedFixture.of("deepseek-v2")
                .config(config -> config.put("routed_scaling_factor", 1e9))
                .write(folder.resolve("from"));
        double first = Folders.values(from, "model.layers.1.mlp.experts.0.down_proj.weight")[0];
        refused(
                IllegalArgumentException.class,
                "model.layers.1.mlp.experts.0.down_proj.weight: expected numbers that are finite as F16 times 1.0E9 but"
                        + " number 0 is " + first,
                from,
                new AbsorbRoutedScale(),
                new StoreAs(ElementType.F16));
    }

    @Test
    void eightBitsWithoutScalesAreNamed() throws IOException {
        String name = "model.layers.0.self_attn.q_proj.weight";
        Path from = ChangedFixture.of("deepseek-v3-fp8")
                .without(name + "_scale_inv")
                .write(folder.resolve("from"));
        refused(
                IOException.class,
                from + ": " + name + ": expected scales of blocks of 128 x 128 beside it but was F8_E4M3 "
                        + Folders.tensors(from).get(name).shape() + " without them",
                from,
                new StoreAs(ElementType.BF16));
    }

    /** A layout that says something wrong does not get past the comparison. */
    @Test
    void aLayerThatWouldComputeSomethingElseIsNotWritten() throws IOException {
        String text;
        try (InputStream stream =
                Objects.requireNonNull(Layout.class.getResourceAsStream("/moe/layout/deepseek-v3.properties"))) {
            text = new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        }
        Path file = Files.writeString(
                folder.resolve("wrong.properties"),
                text.replaceAll("rewrite\\.routedScale = .*", "rewrite.routedScale = norm_topk_prob: false"));
        Path from = Fixture.root().resolve("kimi-k2");
        try (MoeCheckpoint original = MoeCheckpoint.open(from, Layout.load(file))) {
            assertThatThrownBy(() -> CheckpointRewrite.write(
                            original, List.of(new AbsorbRoutedScale()), folder.resolve("out"), () -> {}))
                    .isInstanceOf(IOException.class)
                    .hasMessageStartingWith(from + ": layer 1: expected the same output within 1.0E-12 of its largest"
                            + " number but the difference is ");
        }
        assertThat(Folders.files(folder)).containsExactly("wrong.properties");
    }

    @Test
    void aFolderWithFilesIsNotWrittenOver() throws IOException {
        Path out = Files.createDirectory(folder.resolve("out"));
        Files.writeString(out.resolve("x"), "");
        Path from = Fixture.root().resolve("olmoe");
        try (MoeCheckpoint original = MoeCheckpoint.open(from)) {
            List<RewriteOperation> operations = List.of(new StoreAs(ElementType.F32));
            assertThatThrownBy(() -> CheckpointRewrite.write(original, operations, out, () -> {}))
                    .isInstanceOf(IOException.class)
                    .hasMessage(out + ": expected an empty folder, or one that is not there yet, but was one with"
                            + " files");
            assertThatThrownBy(() -> CheckpointRewrite.write(original, operations, out.resolve("x"), () -> {}))
                    .isInstanceOf(IOException.class)
                    .hasMessage(out.resolve("x") + ": expected a folder that is not there yet but was a file");
            assertThatThrownBy(() -> CheckpointRewrite.write(original, List.of(), out, () -> {}))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("operations: expected at least 1 operation but was an empty list");
        }
        assertThat(Folders.files(out)).containsExactly("x");
    }

    @Test
    void anEmptyFolderIsFilled() throws IOException {
        Path out = Files.createDirectory(folder.resolve("out"));
        try (MoeCheckpoint original = MoeCheckpoint.open(Fixture.root().resolve("olmoe"))) {
            CheckpointRewrite.write(original, List.of(new StoreAs(ElementType.F32)), out, () -> {});
        }
        assertThat(Folders.files(out)).contains("config.json", "model.safetensors");
    }
}
