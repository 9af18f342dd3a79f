package org.moe4j.bench.preset;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.SortedSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.loss.RouterLoss;
import org.moe4j.router.loss.RouterLosses;
import org.moe4j.router.loss.ZLoss;

/** The section {@code losses} of every preset file. */
class PresetLossesTest {
    static SortedSet<String> names() {
        return Preset.names();
    }

    @ParameterizedTest
    @MethodSource("names")
    void everySectionIsRead(String name) {
        Preset preset = Preset.named(name);
        assertThat(RouterLosses.from(preset).isEmpty())
                .isEqualTo(preset.section("losses").isEmpty());
    }

    /** Balance loss, its coefficient, and that of the z-loss, typed from what was published. */
    @ParameterizedTest
    @CsvSource({
        "olmoe-1b-7b, megablocks, 0.01, 0.001",
        "olmo-core-main, olmo-core, 0.01, 0.001",
        "mixtral-8x7b, transformers, 0.02, 0",
        "qwen1.5-moe-a2.7b, transformers, 1e-3, 0",
        "qwen3-235b-a22b, transformers, 1e-3, 0",
        "deepseek-v3, deepseek-v3, 1e-4, 0",
        "kimi-k2, deepseek-sequence, 1e-3, 0",
        "megablocks-dmoe, megablocks, 0.1, 0",
        "megatron-nemotron-3-nano, megatron-sequence, 1e-4, 0"
    })
    void lossesAreThePublishedOnes(String name, String balance, double coefficient, double z) {
        List<RouterLoss> losses = RouterLosses.from(Preset.named(name));
        assertThat(losses.get(0).name()).isEqualTo(balance);
        assertThat(losses.get(0).coefficient()).isEqualTo(coefficient);
        assertThat(losses.subList(1, losses.size())).isEqualTo(z == 0 ? List.of() : List.of(new ZLoss(z)));
    }
}
