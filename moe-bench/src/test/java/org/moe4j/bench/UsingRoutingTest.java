package org.moe4j.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.TopKPass;

/** The programs of docs/using.md that show what a routing is worth, what noise moves, and who is dropped. */
class UsingRoutingTest extends UsingPage {
    private static MoeLayer layer(String preset) throws ReflectiveOperationException {
        return layer(Preset.named(preset).scaledTo(HIDDEN, 8));
    }

    @Test
    void balancingEmptiesTheFullestExpert() throws Exception {
        List<Integer> fullest = page.run("Balancing").stream()
                .map(line -> Integer.valueOf(line.get(0)))
                .toList();
        assertThat(fullest).hasSize(4);
        int mean = 512 * 8 / 256; // T·K/E
        assertThat(fullest.get(0)).as("before").isGreaterThan(2 * mean);
        assertThat(fullest.get(3)).as("after 99 steps").isLessThan(2 * mean);
    }

    @Test
    void noiseMovesOtherTokensInEachStep() throws Exception {
        List<Integer> moved = page.run("NoisyRouting").stream()
                .map(line -> Integer.valueOf(line.get(0)))
                .toList();
        assertThat(moved).hasSize(3).allSatisfy(count -> assertThat(count).isBetween(1, 63));
        assertThat(moved.stream().distinct().count()).isGreaterThan(1);
    }

    /** Switch keeps the first tokens of an expert, max(⌊128·1.25/128⌋, 4) of them; the others stay what they are. */
    @Test
    void theFifthTokenOfAnExpertIsDroppedAndPassesThrough() throws Exception {
        List<String> expected = new ArrayList<>();
        try (MoeLayer layer = layer("switch-base-128").withCapacity(Capacity.dropless());
                Matrix tokens = Initializer.normal(1).draw(BACKEND, 128, HIDDEN, 2);
                MoePass pass = layer.forward(tokens)) {
            pass.output().close();
            int[] taken = new int[128];
            for (int t = 0; t < 128; t++) {
                int expert = pass.routing().expert(t, 0);
                if (++taken[expert] > 4) {
                    expected.add("token " + t + " wanted expert " + expert + " with weight 0.0 and has changed by 0.0");
                }
            }
        }
        expected.add(0, expected.size() + " assignments dropped");
        assertThat(page.run("Dropped").stream().map(line -> String.join(" ", line)))
                .containsExactlyElementsOf(expected)
                .hasSizeGreaterThan(3);
    }

    @Test
    void theLossesOfAPresetAreReadOneByOne() throws Exception {
        List<List<String>> lines = page.run("PresetTraining");
        assertThat(lines.stream().map(line -> line.get(0) + " " + line.get(1)))
                .containsExactly(
                        "olmoe-1b-7b megablocks",
                        "olmoe-1b-7b z-loss",
                        "olmoe-1b-7b together",
                        "switch-base-128 flaxformer",
                        "switch-base-128 together",
                        "v-moe-s32-last2 v-moe-importance",
                        "v-moe-s32-last2 v-moe-load",
                        "v-moe-s32-last2 together",
                        "shazeer-2017 shazeer-importance",
                        "shazeer-2017 shazeer-load",
                        "shazeer-2017 together");
        double sum = 0;
        for (List<String> line : lines) {
            double value = Double.parseDouble(line.get(2));
            if (line.get(1).equals("together")) {
                assertThat(value).as(line.get(0)).isCloseTo(sum, within(1e-15));
            }
            sum = line.get(1).equals("together") ? 0 : sum + value;
        }
        double[] olmoe = lossesOfOlmoe();
        assertThat(Double.parseDouble(lines.get(0).get(2))).isCloseTo(olmoe[0], within(1e-15));
        assertThat(Double.parseDouble(lines.get(1).get(2))).isCloseTo(olmoe[1], within(1e-15));
    }

    /** 0.01·E/(K·T²)·Σ c·Σ p, and 0.001 times the mean of lse². */
    private static double[] lossesOfOlmoe() throws ReflectiveOperationException {
        int tokens = 400;
        int experts = 64;
        double[] counts = new double[experts];
        double[] scores = new double[experts];
        double squares = 0;
        try (MoeLayer layer = layer("olmoe-1b-7b");
                Matrix drawn = Initializer.normal(1).draw(BACKEND, tokens, HIDDEN, 2);
                MoePass pass = layer.forward(drawn)) {
            pass.output().close();
            Routing routing = pass.routing();
            double[] logits = ((TopKPass) pass.routerPass()).logits();
            for (int t = 0; t < tokens; t++) {
                double[] powers = Arrays.stream(logits, t * experts, (t + 1) * experts)
                        .map(Math::exp)
                        .toArray();
                double all = Arrays.stream(powers).sum();
                squares += Math.pow(Math.log(all), 2);
                for (int e = 0; e < experts; e++) {
                    scores[e] += powers[e] / all;
                }
                for (int rank = 0; rank < 8; rank++) {
                    counts[routing.expert(t, rank)]++;
                }
            }
        }
        double balance = 0;
        for (int e = 0; e < experts; e++) {
            balance += counts[e] * scores[e];
        }
        return new double[] {0.01 * experts * balance / (8.0 * tokens * tokens), 0.001 * squares / tokens};
    }

    /** Near balance, with 8 of 128 experts, Transformers' loss is a little above K; the coefficient is 0.001. */
    @Test
    void aPooledLossIsThatOfTransformers() throws Exception {
        List<List<String>> lines = page.run("PooledLoss");
        assertThat(lines.get(0).get(0)).isEqualTo("transformers");
        assertThat(Double.parseDouble(lines.get(0).get(1))).isBetween(0.008, 0.024);
        assertThat(Double.parseDouble(lines.get(1).get(1))).isNotZero();
    }
}
