package org.moe4j.bench.preset;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.SortedSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.merge.MergeConvention;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.ExpertSelection.GroupLimited;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** The owners of the sections accept every preset file, and the sizes are those of the models. */
class PresetFilesTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    static SortedSet<String> names() {
        return Preset.names();
    }

    private static RouterConfig router(String name) {
        return RouterConfig.from(Preset.named(name));
    }

    private static MergeConvention merge(String name) {
        return MergeConvention.from(Preset.named(name), BACKEND, 1);
    }

    private static int sharedWidth(Preset preset) {
        return ExpertShape.shared(preset).stream()
                .mapToInt(shape -> shape.count() * shape.intermediateSize())
                .sum();
    }

    @ParameterizedTest
    @MethodSource("names")
    void everyOwnerAcceptsItsSection(String name) {
        Preset preset = Preset.named(name);
        RouterConfig config = RouterConfig.from(preset);
        ExpertShape routed = ExpertShape.routed(preset);
        assertThat(config.experts()).isEqualTo(routed.count());
        boolean shares = !preset.section("shared").isEmpty();
        assertThat(sharedWidth(preset) > 0).isEqualTo(shares);
        assertThat(preset.section("merge").isEmpty())
                .as("a merge exactly where something is shared")
                .isEqualTo(!shares);
        if (shares) {
            assertThat(merge(name).name()).isNotBlank();
        }
        assertThat(Capacity.from(preset)).isNotNull();
    }

    @ParameterizedTest
    @MethodSource("names")
    void aScaledFileMakesALayerThatRuns(String name) {
        Preset scaled = Preset.named(name).scaledTo(8, 32); // wide enough that no token is 0 behind every ReLU
        assertThat(RouterConfig.from(scaled)).isEqualTo(router(name));
        assertThat(Capacity.from(scaled)).isEqualTo(Capacity.from(Preset.named(name)));
        int tokens = 7; // the fewest of which OLMo-core's capacity leaves any
        try (MoeLayer layer = layer(scaled);
                Matrix input = Initializer.normal(1).draw(BACKEND, tokens, 8, 4);
                MoePass pass = layer.forward(input);
                Gradients gradients = pass.backward(input)) {
            assertThat(pass.droppedAssignments()).isZero();
            assertThat(pass.routing().slots()).isEqualTo(tokens * router(name).topK());
            assertThat(pass.output().toArray()).as("output").doesNotContain(0, Double.NaN);
            assertThat(gradients.input().toArray()).as("dX").doesNotContain(0, Double.NaN);
        }
    }

    private static MoeLayer layer(Preset preset) {
        int width = ExpertShape.tokenWidth(preset);
        TopKRouter router = TopKRouter.random(RouterConfig.from(preset), width, BACKEND, 1);
        Experts experts = FeedForwardExperts.random(ExpertShape.routed(preset), BACKEND, 2);
        int latent = experts.shape().hiddenSize();
        MoeLayer layer = latent == width
                ? MoeLayer.of(router, experts)
                : MoeLayer.of(router, experts, LatentProjections.random(width, latent, BACKEND, 5));
        layer = layer.withCapacity(Capacity.from(preset));
        List<ExpertShape> shared = ExpertShape.shared(preset);
        return shared.isEmpty()
                ? layer
                : layer.withShared(SharedBranch.of(
                        FeedForwardExperts.random(shared.get(0), BACKEND, 3),
                        MergeConvention.from(preset, BACKEND, 4)));
    }

    /**
     * Sizes, total shared width, scale and groups of released models, typed from their published configurations and not from
     * the files.
     */
    @ParameterizedTest
    @CsvSource({
        // E, K, D, F, shared width, scale, groups, kept groups
        "olmoe-1b-7b, 64, 8, 2048, 1024, 0, 1, 0, 0",
        "deepseek-moe-16b, 64, 6, 2048, 1408, 2816, 1, 0, 0",
        "deepseek-v2-lite, 64, 6, 2048, 1408, 2816, 1, 0, 0",
        "deepseek-v2, 160, 6, 5120, 1536, 3072, 16, 8, 3",
        "deepseek-v3, 256, 8, 7168, 2048, 2048, 2.5, 8, 4",
        "megatron-deepseek-v3, 256, 8, 7168, 2048, 2048, 2.5, 8, 4",
        "kimi-k2, 384, 8, 7168, 2048, 2048, 2.827, 0, 0",
        "megatron-kimi-k2, 384, 8, 7168, 2048, 2048, 2.827, 0, 0",
        "megatron-nemotron-3-nano, 128, 6, 2688, 1856, 3712, 2.5, 0, 0",
        "megatron-nemotron-3-super, 512, 22, 4096, 2688, 5376, 5, 0, 0",
        "megatron-nemotron-3-ultra, 512, 22, 8192, 5120, 10240, 5, 0, 0",
        "gpt-oss-20b, 32, 4, 2880, 2880, 0, 1, 0, 0",
        "gpt-oss-120b, 128, 4, 2880, 2880, 0, 1, 0, 0",
        "switch-base-128, 128, 1, 768, 3072, 0, 1, 0, 0",
        "gshard-512, 512, 2, 1024, 8192, 0, 1, 0, 0",
        "v-moe-s32-last2, 8, 2, 512, 2048, 0, 1, 0, 0",
        "shazeer-2017, 64, 2, 1024, 2048, 0, 1, 0, 0",
        "mixtral-8x7b, 8, 2, 4096, 14336, 0, 1, 0, 0",
        "mixtral-8x22b, 8, 2, 6144, 16384, 0, 1, 0, 0",
        "qwen1.5-moe-a2.7b, 60, 4, 2048, 1408, 5632, 1, 0, 0",
        "qwen2-57b-a14b, 64, 8, 3584, 2560, 20480, 1, 0, 0",
        "qwen3-30b-a3b, 128, 8, 2048, 768, 0, 1, 0, 0",
        "qwen3-235b-a22b, 128, 8, 4096, 1536, 0, 1, 0, 0",
        "qwen3-next-80b-a3b, 512, 10, 2048, 512, 512, 1, 0, 0",
        "qwen3.5-35b-a3b, 256, 8, 2048, 512, 512, 1, 0, 0",
        "olmo-study, 48, 4, 2560, 2560, 1280, 1, 0, 0",
        "olmo-core-main, 32, 4, 768, 384, 1536, 1, 0, 0",
    })
    void releasedModelsHaveTheirSizes(
            String name, int experts, int topK, int hidden, int width, int shared, double scale, int groups, int kept) {
        Preset preset = Preset.named(name);
        assertThat(ExpertShape.routed(preset).count()).isEqualTo(experts);
        assertThat(ExpertShape.tokenWidth(preset)).isEqualTo(hidden);
        assertThat(ExpertShape.routed(preset).intermediateSize()).isEqualTo(width);
        assertThat(sharedWidth(preset)).isEqualTo(shared);
        RouterConfig config = router(name);
        assertThat(config.topK()).isEqualTo(topK);
        assertThat(config.scale()).isEqualTo(scale);
        assertThat(config.selection() instanceof GroupLimited).isEqualTo(groups > 0);
        if (config.selection() instanceof GroupLimited limited) {
            assertThat(limited.groups()).isEqualTo(groups);
            assertThat(limited.keptGroups()).isEqualTo(kept);
            assertThat(limited.closedGroups()).isEqualTo(ExpertSelection.ClosedGroups.MINUS_INFINITY);
        }
    }

    /**
     * Routed experts hold most of a model's parameters, so that sizes and number of MoE layers nearly give the total that its
     * publisher names, in billions.
     */
    @ParameterizedTest
    @CsvSource({
        "olmoe-1b-7b, 16, 6.9",
        "deepseek-moe-16b, 27, 16.4",
        "deepseek-v2-lite, 26, 15.7",
        "deepseek-v2, 59, 236",
        "deepseek-v3, 58, 671",
        "kimi-k2, 60, 1040",
        "gpt-oss-20b, 24, 21",
        "gpt-oss-120b, 36, 117",
        "mixtral-8x7b, 32, 46.7",
        "mixtral-8x22b, 56, 141",
        "qwen1.5-moe-a2.7b, 24, 14.3",
        "qwen2-57b-a14b, 28, 57.4",
        "qwen3-30b-a3b, 48, 30.5",
        "qwen3-235b-a22b, 94, 235",
        "qwen3-next-80b-a3b, 48, 80",
        "qwen3.5-35b-a3b, 40, 35",
    })
    void sizesGiveTheTotalsOfTheModels(String name, int layers, double billions) {
        double routed = ExpertShape.routed(Preset.named(name)).parameters() * layers / 1e9;
        assertThat(routed).isBetween(0.85 * billions, billions);
    }
}
