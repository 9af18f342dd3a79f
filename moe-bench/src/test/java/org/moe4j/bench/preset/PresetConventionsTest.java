package org.moe4j.bench.preset;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.KnownCapacity;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.merge.MergeConvention;
import org.moe4j.router.ExpertSelection.GroupLimited;
import org.moe4j.router.GroupScore;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.ScoreFunction;

/** Score, renormalisation, merge and capacity of preset files, typed from the models and frameworks and not from the files. */
class PresetConventionsTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    private static RouterConfig router(String name) {
        return RouterConfig.from(Preset.named(name));
    }

    private static MergeConvention merge(String name) {
        return MergeConvention.from(Preset.named(name), BACKEND, 1);
    }

    @Test
    void softmaxModelsDifferInTheirRenormalization() {
        Renormalization none = new Renormalization.None();
        Renormalization sum = new Renormalization.Sum(0, Renormalization.EpsilonPlace.IN_SUM);
        for (String name : new String[] {
            "olmoe-1b-7b",
            "olmo-core-main",
            "deepseek-moe-16b",
            "deepseek-v2-lite",
            "deepseek-v2",
            "qwen1.5-moe-a2.7b",
            "qwen2-57b-a14b",
            "megablocks-moe",
            "megablocks-dmoe",
            "megatron-core-pre-softmax"
        }) {
            assertThat(router(name).renormalization()).as(name).isEqualTo(none);
            assertThat(router(name).score()).as(name).isEqualTo(new ScoreFunction.Softmax());
        }
        for (String name : new String[] {
            "olmo-study",
            "qwen3-30b-a3b",
            "qwen3-235b-a22b",
            "qwen3-next-80b-a3b",
            "qwen3.5-35b-a3b",
            "mixtral-8x7b",
            "mixtral-8x22b"
        }) {
            assertThat(router(name).renormalization()).as(name).isEqualTo(sum);
            assertThat(router(name).score()).as(name).isEqualTo(new ScoreFunction.Softmax());
            assertThat(router(name).selectionBias()).as(name).isFalse();
        }
        assertThat(router("megatron-core").renormalization()).isEqualTo(new Renormalization.SoftmaxOfSelected());
    }

    @Test
    void sigmoidModelsSelectWithABiasAndDifferInTheEpsilon() {
        for (String name : new String[] {
            "kimi-k2",
            "megatron-deepseek-v3",
            "megatron-kimi-k2",
            "megatron-nemotron-3-nano",
            "megatron-nemotron-3-super",
            "megatron-nemotron-3-ultra"
        }) {
            assertThat(router(name).renormalization())
                    .as(name)
                    .isEqualTo(new Renormalization.Sum(1e-20, Renormalization.EpsilonPlace.IN_SUM));
            assertThat(router(name).score()).as(name).isEqualTo(new ScoreFunction.Sigmoid(0));
            assertThat(router(name).selectionBias()).as(name).isTrue();
            assertThat(merge(name).name()).as(name).isEqualTo("sum");
        }
        assertThat(router("deepseek-v3"))
                .isEqualTo(router("megatron-deepseek-v3")
                        .withSelection(new GroupLimited(8, 4, new GroupScore.SumOfBest(2)))
                        .withRenormalization(new Renormalization.Sum(0, Renormalization.EpsilonPlace.IN_SUM)));
        assertThat(router("megatron-deepseek-v3").selection())
                .isEqualTo(new GroupLimited(8, 4, new GroupScore.TopKPerKeptGroup()));
        assertThat(router("deepseek-v2").selection()).isEqualTo(new GroupLimited(8, 3, new GroupScore.Max()));
    }

    @Test
    void mergesAreThoseOfTheModels() {
        assertThat(merge("olmo-study").name()).isEqualTo("olmo");
        assertThat(merge("olmo-core-main").name()).isEqualTo("active-mean");
        for (String name : new String[] {"deepseek-moe-16b", "deepseek-v2-lite", "deepseek-v2", "deepseek-v3"}) {
            assertThat(merge(name).name()).as(name).isEqualTo("sum");
        }
        for (String name :
                new String[] {"qwen1.5-moe-a2.7b", "qwen2-57b-a14b", "qwen3-next-80b-a3b", "qwen3.5-35b-a3b"}) {
            assertThat(merge(name).name()).as(name).isEqualTo("sigmoid-gated");
        }
    }

    @Test
    void frameworksSayWhatIsTheirsAndWhatWeChose() {
        Preset megatron = Preset.named("megatron-core");
        assertThat(router("megatron-core").logitBias()).isTrue();
        assertThat(router("megatron-core").topK()).isEqualTo(2);
        assertThat(router("megatron-core-pre-softmax"))
                .isEqualTo(router("megatron-core").withRenormalization(new Renormalization.None()));
        assertThat(megatron.chosen())
                .containsExactly("experts.count", "experts.hiddenSize", "experts.intermediateSize");
        assertThat(megatron.defaults()).contains("router.logitBias", "router.renormalization", "router.topK");
        assertThat(Preset.named("megatron-core-pre-softmax").defaults())
                .contains("router.logitBias")
                .doesNotContain("router.renormalization");
        for (String name : Preset.names()) {
            boolean framework = name.startsWith("megatron-core") || name.startsWith("megablocks");
            assertThat(Preset.named(name).chosen().isEmpty()).as(name).isEqualTo(!name.startsWith("megatron-core"));
            assertThat(framework && Preset.named(name).defaults().isEmpty())
                    .as(name)
                    .isFalse();
        }
    }

    @Test
    void megaBlocksLayersDifferInTheirCapacityAlone() {
        Preset moe = Preset.named("megablocks-moe");
        Preset dropless = Preset.named("megablocks-dmoe");
        assertThat(RouterConfig.from(moe))
                .isEqualTo(RouterConfig.from(dropless))
                .isEqualTo(RouterConfig.topK(64, 1));
        assertThat(ExpertShape.routed(moe))
                .isEqualTo(ExpertShape.routed(dropless))
                .isEqualTo(new ExpertShape(64, 1024, 4096));
        assertThat(Capacity.from(moe)).isEqualTo(KnownCapacity.megaBlocks(1));
        assertThat(Capacity.from(Preset.named("olmo-core-main"))).isEqualTo(KnownCapacity.olmoCore(1.2));
        assertThat(Capacity.from(Preset.named("switch-base-128"))).isEqualTo(KnownCapacity.flaxformer(1.25, 8192));
        assertThat(Capacity.from(Preset.named("gshard-512"))).isEqualTo(KnownCapacity.gShard(2, 1024));
        Set<String> limited =
                Set.of("megablocks-moe", "olmo-core-main", "switch-base-128", "gshard-512", "v-moe-s32-last2");
        for (String name : Preset.names()) {
            if (!limited.contains(name)) {
                assertThat(Capacity.from(Preset.named(name))).as(name).isEqualTo(Capacity.dropless());
            }
        }
    }
}
