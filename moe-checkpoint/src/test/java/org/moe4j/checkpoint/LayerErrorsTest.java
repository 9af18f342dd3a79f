package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.reference.ReferenceBackend;

/** What is wrong with the tensors of a layer, and how it is said. */
class LayerErrorsTest {
    private static final String MLP = "model.layers.1.mlp.";

    @TempDir
    private Path folder;

    private void read(ChangedFixture changed, int layer) throws IOException {
        changed.write(folder);
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(folder);
                MoeLayer made = checkpoint.layer(layer, ReferenceBackend.instance())) {
            assertThat(made.parameters()).isNotNull();
        }
    }

    private static ChangedFixture olmoe() throws IOException {
        return ChangedFixture.of("olmoe");
    }

    @Test
    void aMissingTensorIsNamed() throws IOException {
        ChangedFixture changed = olmoe().without(MLP + "experts.2.up_proj.weight");
        assertThatThrownBy(() -> read(changed, 1))
                .isInstanceOf(IOException.class)
                .hasMessage(folder + ": layer 1: expected " + MLP + "experts.2.up_proj.weight but was a checkpoint"
                        + " without it");
    }

    @Test
    void aTensorThatIsNoPartIsNamed() throws IOException {
        ChangedFixture changed = olmoe().with(MLP + "gate.bias", 1, 4);
        assertThatThrownBy(() -> read(changed, 1))
                .isInstanceOf(IOException.class)
                .hasMessage(folder + ": layer 1: expected no tensor but those of layout olmoe but was " + MLP
                        + "gate.bias");
    }

    @Test
    void aNumberThatIsNotFiniteIsNamedByTensorAndIndex() throws IOException {
        ChangedFixture changed = olmoe();
        long[] shape = {
            changed.config().get("num_experts").asLong(),
            changed.config().get("hidden_size").asLong()
        };
        changed.with(MLP + "gate.weight", Float.NaN, shape);
        assertThatThrownBy(() -> read(changed, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(folder + ": " + MLP + "gate.weight: expected finite numbers but number 0 is NaN");
    }

    @Test
    void aLayerThatIsNotThereIsRefused() throws IOException {
        assertThatThrownBy(() -> read(olmoe(), 2))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(folder + ": layer: expected an MoE layer, one of [0, 1], but was 2");
    }

    @Test
    void aDenseLayerIsRefused() throws IOException {
        assertThatThrownBy(() -> read(ChangedFixture.of("deepseek-moe"), 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(folder + ": layer: expected an MoE layer, one of [1], but was 0");
    }
}
