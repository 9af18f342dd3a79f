package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.testing.SmallPreset;
import org.moe4j.router.loss.LoadBalancingLoss;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.RouterLosses;
import org.moe4j.router.loss.VariationLoss;
import org.moe4j.router.loss.ZLoss;

/** The section {@code losses} of a preset. */
class RouterLossesTest {
    @TempDir
    private Path folder;

    private List<RouterLoss> read(String losses) throws IOException {
        return RouterLosses.from(SmallPreset.of(folder, "test", 64, losses));
    }

    @Test
    void withoutTheSectionThereIsNone() throws IOException {
        assertThat(read("")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "switch",
        "mesh-tensorflow",
        "lingvo",
        "flaxformer",
        "transformers",
        "megatron",
        "megatron-sequence",
        "olmo-core",
        "olmo-core-instance",
        "megablocks",
        "deepseek-batch",
        "deepseek-sequence",
        "deepseek-v3"
    })
    void everyBalanceLossIsCalledByItsName(String name) throws IOException {
        List<RouterLoss> read = read("losses.loadBalancing = " + name + "\nlosses.loadBalancing.coefficient = 0.02");
        assertThat(read).hasSize(1);
        assertThat(read.get(0).name()).isEqualTo(name);
        assertThat(read.get(0).coefficient()).isEqualTo(0.02);
    }

    @Test
    void allOfThemAreReadInOrder() throws IOException {
        assertThat(read("""
                losses.load = v-moe
                losses.load.coefficient = 4
                losses.importance = shazeer
                losses.importance.coefficient = 3
                losses.zLoss.coefficient = 2
                losses.loadBalancing = olmo-core
                losses.loadBalancing.coefficient = 1"""))
                .containsExactly(
                        LoadBalancingLoss.olmoCore(1),
                        new ZLoss(2),
                        VariationLoss.shazeerImportance(3),
                        VariationLoss.vMoeLoad(4));
        assertThat(read("losses.load = shazeer\nlosses.load.coefficient = 0"))
                .containsExactly(VariationLoss.shazeerLoad(0));
        assertThat(read("losses.importance = v-moe\nlosses.importance.coefficient = 1"))
                .containsExactly(VariationLoss.vMoeImportance(1));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "losses.zloss.coefficient = 1 | preset test: expected a known key but was losses.zloss.coefficient; did you mean losses.zLoss.coefficient?",
                "losses.zLoss = 0.1 | preset test: expected a known key but was losses.zLoss; did you mean losses.zLoss.coefficient?",
                "losses.z = 0.1 | preset test: expected a known key but was losses.z",
                "losses.loadBalancing = megatron | preset test: losses.loadBalancing.coefficient: expected a number of at least 0 but was absent",
                "losses.load = olmo | preset test: losses.load: expected one of [shazeer, v-moe] but was olmo",
                "losses.importance.coefficient = 1 | preset test: losses.importance: expected one of [shazeer, v-moe] but was absent",
                "losses.zLoss.coefficient = -1 | preset test: losses.zLoss.coefficient: expected a finite number of at least 0 but was -1.0"
            })
    void whatHasNoMeaningIsRefused(String line, String message) {
        assertThatThrownBy(() -> read(line))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }
}
