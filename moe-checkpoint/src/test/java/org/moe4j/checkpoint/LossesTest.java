package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.checkpoint.block.MoeBlock;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.loss.LoadBalancingLoss;

/** Which losses a configuration names, and how far the reading of a layer is. */
class LossesTest {
    @TempDir
    private Path folder;

    private MoeCheckpoint open(String name, Consumer<ObjectNode> change) throws IOException {
        return MoeCheckpoint.open(ChangedFixture.of(name).config(change).write(folder));
    }

    @ParameterizedTest
    @CsvSource({
        "mixtral, 0.02",
        "qwen2-moe, 0.001",
        "qwen3-moe, 0.001",
        "qwen3-next, 0.001",
        "qwen3.5-moe, 0.001",
        "olmoe, 0.01",
        "gpt-oss-bf16, 0.9"
    })
    void familiesOfTransformersHaveItsLoss(String name, double coefficient) throws IOException {
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(Fixture.root().resolve(name))) {
            assertThat(checkpoint.losses()).containsExactly(LoadBalancingLoss.transformers(coefficient));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"deepseek-moe", "deepseek-v2", "deepseek-v3", "kimi-k2"})
    void deepSeeksIsOfSequencesOrOfTheBatch(String name) throws IOException {
        try (MoeCheckpoint checkpoint = open(name, config -> {})) {
            assertThat(checkpoint.losses()).containsExactly(LoadBalancingLoss.deepSeekSequence(0.001));
        }
        try (MoeCheckpoint checkpoint = open(name, config -> config.put("seq_aux", false))) {
            assertThat(checkpoint.losses()).containsExactly(LoadBalancingLoss.deepSeekBatch(0.001));
        }
        try (MoeCheckpoint checkpoint = open(name, config -> config.remove("aux_loss_alpha"))) {
            assertThat(checkpoint.losses()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"nemotron-3-nano", "olmo-hf", "gpt-oss-original"})
    void othersNameNone(String name) throws IOException {
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(Fixture.root().resolve(name))) {
            assertThat(checkpoint.losses()).isEmpty();
        }
    }

    /** A key for training does not keep a layer from being read. */
    @ParameterizedTest
    @CsvSource({"mixtral, router_aux_loss_coef", "gpt-oss-bf16, router_aux_loss_coef", "deepseek-v2, aux_loss_alpha"})
    void nullStandsForNone(String name, String key) throws IOException {
        try (MoeCheckpoint checkpoint = open(name, config -> config.putNull(key))) {
            assertThat(checkpoint.losses()).isEmpty();
        }
    }

    @Test
    void anAbsentCoefficientHasTheDefaultOfItsClass() throws IOException {
        try (MoeCheckpoint checkpoint = open("olmoe", config -> config.remove("router_aux_loss_coef"))) {
            assertThat(checkpoint.losses()).containsExactly(LoadBalancingLoss.transformers(0.01));
        }
    }

    /** It matters to whoever asks for losses only. */
    @Test
    void aWrongCoefficientIsNamedByItsKey() throws IOException {
        try (MoeCheckpoint checkpoint = open("olmoe", config -> config.put("router_aux_loss_coef", -1));
                MoeLayer layer = checkpoint.layer(1, ReferenceBackend.instance())) {
            assertThat(layer.router().experts()).isPositive();
            assertThatThrownBy(checkpoint::losses)
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith(folder.resolve("config.json") + ": router_aux_loss_coef")
                    .hasMessageContaining("-1");
        }
    }

    @Test
    void readingTellsOfEachExpert() throws IOException {
        AtomicInteger read = new AtomicInteger();
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(Fixture.root().resolve("olmoe"));
                MoeLayer layer = checkpoint.layer(1, ReferenceBackend.instance(), read::incrementAndGet)) {
            assertThat(read.get()).isEqualTo(layer.router().experts());
            try (MoeBlock block = checkpoint.block(1, ReferenceBackend.instance(), read::incrementAndGet)) {
                assertThat(read.get()).isEqualTo(2 * layer.router().experts());
                assertThat(block.withLayer(layer).layer()).isSameAs(layer);
            }
        }
    }
}
