package org.moe4j.bench.preset;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.RouterNoise;
import org.moe4j.router.SecondExpert;
import org.moe4j.router.loss.LoadBalancingLoss;
import org.moe4j.router.loss.RouterLosses;
import org.moe4j.router.loss.VariationLoss;

/** What kind of experts the files give, and what they are trained with, as the models and frameworks say. */
class PresetKindsTest {
    /** Activation, biases and latent size of the models that have other experts than plain SwiGLU. */
    @Test
    void expertsAreThoseOfTheModels() {
        Map<String, Activation> others = Map.of(
                "gpt-oss-20b", new Activation.ClampedSwiGlu(1.702, 7, 1),
                "gpt-oss-120b", new Activation.ClampedSwiGlu(1.702, 7, 1),
                "megatron-nemotron-3-nano", new Activation.ReluSquared(),
                "megatron-nemotron-3-super", new Activation.ReluSquared(),
                "megatron-nemotron-3-ultra", new Activation.ReluSquared(),
                "switch-base-128", new Activation.Relu(),
                "gshard-512", new Activation.Relu(),
                "shazeer-2017", new Activation.Relu(),
                "v-moe-s32-last2", new Activation.GeluTanh());
        Set<String> biased = Set.of("gpt-oss-20b", "gpt-oss-120b", "v-moe-s32-last2");
        Map<String, Integer> latent = Map.of("megatron-nemotron-3-super", 1024, "megatron-nemotron-3-ultra", 2048);
        for (String name : Preset.names()) {
            ExpertShape shape = ExpertShape.routed(Preset.named(name));
            assertThat(shape.activation()).as(name).isEqualTo(others.getOrDefault(name, new Activation.SwiGlu()));
            assertThat(shape.biases()).as(name).isEqualTo(biased.contains(name));
            int hidden = ExpertShape.tokenWidth(Preset.named(name));
            assertThat(shape.hiddenSize()).as(name).isEqualTo(latent.getOrDefault(name, hidden));
        }
    }

    @Test
    void noiseAndLossesAreThoseOfTheModels() {
        assertThat(RouterNoise.from(Preset.named("switch-base-128"))).contains(new RouterNoise.InputJitter(0.01));
        assertThat(RouterNoise.from(Preset.named("v-moe-s32-last2"))).contains(new RouterNoise.FixedNormal(1));
        assertThat(RouterNoise.from(Preset.named("shazeer-2017"))).contains(new RouterNoise.LearnedNormal(0.01));
        assertThat(RouterLosses.from(Preset.named("megatron-nemotron-3-ultra")))
                .containsExactly(LoadBalancingLoss.megatronSequence(1e-4));
        assertThat(RouterLosses.from(Preset.named("switch-base-128")))
                .containsExactly(LoadBalancingLoss.flaxformer(0.01));
        assertThat(RouterLosses.from(Preset.named("gshard-512")))
                .containsExactly(LoadBalancingLoss.meshTensorFlow(0.01));
        assertThat(RouterLosses.from(Preset.named("v-moe-s32-last2")))
                .containsExactly(VariationLoss.vMoeImportance(0.005), VariationLoss.vMoeLoad(0.005));
        assertThat(RouterLosses.from(Preset.named("shazeer-2017")))
                .containsExactly(VariationLoss.shazeerImportance(0.01), VariationLoss.shazeerLoad(0.01));
        assertThat(RouterConfig.from(Preset.named("gshard-512")).selection())
                .isEqualTo(new ExpertSelection.TopTwo(new SecondExpert.Random(0.2)));
    }
}
