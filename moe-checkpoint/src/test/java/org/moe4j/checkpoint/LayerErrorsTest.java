package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;

/** What is wrong with the tensors of a layer, and how it is said. OLMoE here has E = 8, D = 24, F = 16. */
class LayerErrorsTest {
    private static final String MLP = "model.layers.1.mlp.";
    private static final Backend BACKEND = ReferenceBackend.instance();

    @TempDir
    private Path folder;

    private void read(ChangedFixture changed, int layer) throws IOException {
        changed.write(folder);
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder);
                MoeLayer made = checkpoint.layer(layer, BACKEND)) {
            assertThat(made.parameters()).isNotNull();
        }
    }

    /** The checkpoint is refused with this message, after the folder. */
    private void refuses(ChangedFixture changed, String message) {
        assertThatThrownBy(() -> read(changed, 1))
                .isInstanceOf(IOException.class)
                .hasMessage(folder + ": " + message);
    }

    private static ChangedFixture olmoe() throws IOException {
        return ChangedFixture.of("olmoe");
    }

    @Nested
    class Names {
        @Test
        void aMissingTensorIsNamed() throws IOException {
            refuses(
                    olmoe().without(MLP + "experts.2.up_proj.weight"),
                    "layer 1: expected " + MLP + "experts.2.up_proj.weight but was a checkpoint without it");
            refuses(
                    olmoe().without(MLP + "gate.weight"),
                    "layer 1: expected " + MLP + "gate.weight but was a checkpoint without it");
        }

        @Test
        void ofManyMissingTensorsTheFirstAreNamedAndAllCounted() throws IOException {
            ChangedFixture changed = olmoe();
            for (int e = 0; e < changed.config().get("num_experts").asInt(); e++) {
                changed.without(MLP + "experts." + e + ".down_proj.weight");
            }
            int count = changed.config().get("num_experts").asInt();
            String first = String.join(
                    ", ",
                    IntStream.range(0, 5)
                            .mapToObj(e -> MLP + "experts." + e + ".down_proj.weight")
                            .toList());
            refuses(
                    changed,
                    "layer 1: expected " + first + ", … (" + count + " in all) but was a checkpoint without them");
        }

        /** The fused files of newer versions are asked for a fused tensor. */
        @Test
        void aMissingTensorIsNamedAsItsFileWouldNameIt() throws IOException {
            ChangedFixture changed =
                    ChangedFixture.of("qwen3-moe-v5-fused").without("model.layers.0.mlp.experts.down_proj");
            assertThatThrownBy(() -> read(changed, 0))
                    .hasMessage(folder + ": layer 0: expected model.layers.0.mlp.experts.down_proj but was a checkpoint"
                            + " without it");
        }

        @Test
        void aTensorThatIsNoPartIsNamed() throws IOException {
            refuses(
                    olmoe().with(MLP + "gate.bias", 1, 4),
                    "layer 1: expected no tensor but those of layout olmoe but was " + MLP + "gate.bias");
        }

        @Test
        void fewerExpertsThanStoredLeaveTensors() throws IOException {
            ChangedFixture changed = olmoe();
            int experts = changed.config().get("num_experts").asInt();
            int width = changed.config().get("hidden_size").asInt();
            changed.config(config -> config.put("num_experts", experts - 1));
            changed.with(MLP + "gate.weight", 1, experts - 1, width);
            String last = MLP + "experts." + (experts - 1);
            refuses(
                    changed,
                    "layer 1: expected no tensor but those of layout olmoe but was " + last + ".down_proj.weight, "
                            + last + ".gate_proj.weight, " + last + ".up_proj.weight");
        }

        @Test
        void moreExpertsThanTensorsAreNotLookedFor() throws IOException {
            ChangedFixture changed = olmoe().config(config -> config.put("num_experts", Integer.MAX_VALUE));
            assertThatThrownBy(() -> read(changed, 1))
                    .isInstanceOf(IOException.class)
                    .hasMessageStartingWith(folder + ": layer 1: expected 2147483647 tensors as " + MLP
                            + "experts.0.gate_proj.weight but was a checkpoint of ");
        }

        @Test
        void aPartInTwoPlacesIsRefused() throws IOException {
            refuses(
                    olmoe().with(MLP + "experts.gate_up_proj", 1, 1, 1, 1),
                    "layer 1: expected experts.gate in one place but was " + MLP + "experts.0.gate_proj.weight beside "
                            + MLP + "experts.gate_up_proj");
        }

        @Test
        void aLayerUnderTwoBeginningsIsRefused() throws IOException {
            ChangedFixture changed = ChangedFixture.of("qwen3.5-moe").with(MLP + "gate.weight", 1, 1, 1);
            refuses(
                    changed,
                    "layer 1: expected one of the beginnings [model., model.language_model.] but was several of them:"
                            + " [model., model.language_model.]");
        }
    }

    @Nested
    class Contents {
        @Test
        void aWrongShapeIsNamedWithItsSizes() throws IOException {
            ChangedFixture changed = olmoe();
            long experts = changed.config().get("num_experts").asLong();
            long width = changed.config().get("hidden_size").asLong();
            long inner = changed.config().get("intermediate_size").asLong();
            refuses(
                    changed.with(MLP + "gate.weight", 1, width, experts),
                    MLP + "gate.weight: expected shape [" + experts + ", " + width
                            + "] (experts x hiddenSize) but was [" + width + ", " + experts + "]");
            refuses(
                    olmoe().with(MLP + "experts.1.gate_proj.weight", 1, inner + 1, width),
                    MLP + "experts.1.gate_proj.weight: expected shape [" + inner + ", " + width
                            + "] (intermediateSize x token width of experts) but was [" + (inner + 1) + ", " + width
                            + "]");
        }

        @Test
        void aNumberThatIsNotFiniteIsNamedByTensorAndIndex() throws IOException {
            ChangedFixture changed = olmoe();
            long experts = changed.config().get("num_experts").asLong();
            long width = changed.config().get("hidden_size").asLong();
            changed.with(MLP + "gate.weight", Float.NaN, experts, width);
            assertThatThrownBy(() -> read(changed, 1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(folder + ": " + MLP + "gate.weight: expected finite numbers but number 0 is NaN");
        }

        @Test
        void integersAreNoWeights() throws IOException {
            ChangedFixture changed = olmoe();
            int experts = changed.config().get("num_experts").asInt();
            int width = changed.config().get("hidden_size").asInt();
            changed.with(
                    MLP + "gate.weight",
                    ElementType.I8,
                    List.of((long) experts, (long) width),
                    new byte[experts * width]);
            refuses(changed, MLP + "gate.weight: expected one of F64, F32, F16, BF16 but was I8");
        }

        /** Nothing is guessed from shapes: the way a square matrix stands follows from its name alone. */
        @Test
        void aTransposedSquareMatrixIsAnotherMatrix() throws IOException {
            String name = "model.layers.0.mlp.experts.down_proj";
            double[] stored = expert(ChangedFixture.of("mixtral-v5-fused-square"));
            ChangedFixture changed = ChangedFixture.of("mixtral-v5-fused-square");
            int width = changed.config().get("hidden_size").asInt();
            assertThat(changed.config().get("intermediate_size").asInt()).isEqualTo(width);
            double[] transposed = expert(changed.transposed(name));
            for (int i = 0; i < width * width; i++) {
                assertThat(transposed[i]).isEqualTo(stored[i % width * width + i / width]);
            }
        }

        private double[] expert(ChangedFixture changed) throws IOException {
            changed.write(folder);
            try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder);
                    Parameters weights = checkpoint.expert(0, 1, BACKEND)) {
                return weights.get("down").toArray();
            }
        }
    }

    @Nested
    class Encodings {
        private static final String UP = MLP + "experts.1.up_proj.weight";

        private ChangedFixture fp8() throws IOException {
            return ChangedFixture.of("deepseek-v3-fp8");
        }

        @Test
        void eightBitsNeedTheirScales() throws IOException {
            refuses(
                    fp8().without(UP + "_scale_inv"),
                    "layer 1: expected " + UP + "_scale_inv but was a checkpoint without it");
        }

        /** Its experts are 136 wide and see 144: two blocks each way. */
        @Test
        void thereIsAScaleForEachBlock() throws IOException {
            refuses(
                    fp8().with(UP + "_scale_inv", 1, 1, 2),
                    UP + "_scale_inv: expected shape [2, 2] (blocks of 128 x 128 in intermediateSize x token width of"
                            + " experts) but was [1, 2]");
        }

        @Test
        void scalesWithoutEightBitsAreLeftOver() throws IOException {
            ChangedFixture changed = fp8();
            long inner = changed.config().get("moe_intermediate_size").asLong();
            long width = changed.config().get("hidden_size").asLong();
            refuses(
                    changed.with(UP, 1, inner, width),
                    "layer 1: expected no tensor but those of layout deepseek-v3 but was " + UP + "_scale_inv");
        }

        @Test
        void eightBitsWhereNoScalesAreKnownAreRefused() throws IOException {
            ChangedFixture changed = olmoe();
            int inner = changed.config().get("intermediate_size").asInt();
            int width = changed.config().get("hidden_size").asInt();
            changed.with(UP, ElementType.F8_E4M3, List.of((long) inner, (long) width), new byte[inner * width]);
            refuses(changed, UP + ": expected one of F64, F32, F16, BF16 but was F8_E4M3");
        }

        @Test
        void blocksOfFourBitsNeedTheirScales() throws IOException {
            String scales = "model.layers.0.mlp.experts.down_proj_scales";
            ChangedFixture changed = ChangedFixture.of("gpt-oss-mxfp4").without(scales);
            assertThatThrownBy(() -> read(changed, 0))
                    .isInstanceOf(IOException.class)
                    .hasMessage(folder + ": layer 0: expected " + scales + " but was a checkpoint without it");
        }

        @Test
        void blocksOfFourBitsFillRows() throws IOException {
            ChangedFixture changed = ChangedFixture.of("gpt-oss-mxfp4").config(config -> config.put("hidden_size", 40));
            int experts = changed.config().get("num_local_experts").asInt();
            int inner = changed.config().get("intermediate_size").asInt();
            changed.with("model.layers.0.mlp.router.weight", 1, experts, 40);
            assertThatThrownBy(() -> read(changed, 0))
                    .isInstanceOf(IOException.class)
                    .hasMessage(folder + ": model.layers.0.mlp.experts.gate_up_proj_blocks: expected a last size that"
                            + " blocks of 32 fill but was [" + experts + ", " + 2 * inner
                            + ", 40] (experts x 2 intermediateSize x token width of experts)");
        }
    }

    @Nested
    class Indices {
        @Test
        void aLayerThatIsNotThereIsRefused() {
            assertThatThrownBy(() -> read(olmoe(), 2))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(folder + ": layer: expected an MoE layer, one of [0, 1], but was 2");
        }

        @Test
        void aDenseLayerIsRefused() {
            assertThatThrownBy(() -> read(ChangedFixture.of("deepseek-moe"), 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage(folder + ": layer: expected an MoE layer, one of [1], but was 0");
        }

        @Test
        void anExpertThatIsNotThereIsRefused() throws IOException {
            olmoe().write(folder);
            try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder)) {
                assertThatThrownBy(() -> checkpoint.expert(1, -1, BACKEND))
                        .isInstanceOf(IndexOutOfBoundsException.class);
            }
        }
    }
}
