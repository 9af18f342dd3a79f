package org.moe4j.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.preset.Preset;

/** The programs of docs/using.md compile as they stand, run, and compute what the page says. */
class UsingPageTest extends UsingPage {
    /** Here, in {@link UsingPresetsTest} and in {@link UsingRoutingTest}. */
    @Test
    void everyProgramOfThePageIsRun() {
        assertThat(page.names())
                .containsExactly(
                        "PresetLayers",
                        "OwnWeights",
                        "Accumulating",
                        "Balancing",
                        "Dropped",
                        "PresetTraining",
                        "PooledLoss",
                        "NoisyRouting",
                        "Training",
                        "SharedExperts",
                        "AnotherConvention",
                        "GivenLogits");
    }

    @Test
    void ownWeightsGiveTheOutputAndTheGradientsOfTheDefinition() throws Exception {
        OwnWeightsDefinition definition = new OwnWeightsDefinition();
        List<List<String>> lines = page.run("OwnWeights");
        assertThat(lines.get(0).get(0)).isEqualTo("output");
        assertThat(numbers(lines.get(0))).containsExactly(definition.output(), within(1e-12));
        assertThat(lines.stream().skip(1).map(line -> line.get(0)))
                .containsExactlyInAnyOrderElementsOf(definition.values.keySet());
        for (List<String> line : lines.subList(1, lines.size())) {
            Offset<Double> differences = within(1e-6); // of order step², and 1e-16 of the loss over the step
            assertThat(numbers(line)).as(line.get(0)).containsExactly(definition.gradient(line.get(0)), differences);
        }
    }

    private static double[] numbers(List<String> line) {
        return line.stream()
                .skip(1)
                .mapToDouble(word -> Double.parseDouble(word.replaceAll("[\\[\\],]", "")))
                .toArray();
    }

    @Test
    void accumulatedGradientsAreTheSumsOfThoseOfEachBatch() throws Exception {
        Map<String, double[]> sums = new LinkedHashMap<>();
        List<Double> tokens = new ArrayList<>();
        Preset preset = Preset.named("olmoe-1b-7b").scaledTo(HIDDEN, 8);
        try (MoeLayer layer = layer(preset)) {
            for (int batch = 0; batch < 4; batch++) {
                try (Matrix drawn = Initializer.normal(1).draw(BACKEND, 32, HIDDEN, batch);
                        MoePass pass = layer.forward(drawn);
                        Matrix output = pass.output();
                        Gradients all = pass.backward(output)) {
                    tokens.add(norm(all.input().toArray()));
                    for (String name : all.parameters().names()) {
                        double[] gradient = all.parameters().get(name).toArray();
                        double[] sum = sums.computeIfAbsent(name, key -> new double[gradient.length]);
                        Arrays.setAll(sum, i -> sum[i] + gradient[i]);
                    }
                }
            }
        }
        List<List<String>> lines = page.run("Accumulating");
        assertThat(lines).hasSize(4 + 1 + 6);
        for (int i = 0; i < lines.size(); i++) {
            String name = lines.get(i).get(0);
            double expected = i < 4 ? tokens.get(i) : norm(sums.get(name));
            assertThat(numbers(lines.get(i))[0]).as(name).isCloseTo(expected, within(1e-12 * expected));
        }
    }

    private static double norm(double[] values) {
        return Math.sqrt(Arrays.stream(values).map(x -> x * x).sum());
    }

    /** Nothing learned, the loss is that of the tokens, ½·D = 4, and of what a random layer adds to it. */
    @Test
    void trainingLearnsTheIdentityBetterAndBetter() throws Exception {
        List<Double> losses = page.run("Training").stream()
                .map(line -> Double.valueOf(line.get(3)))
                .toList();
        assertThat(losses).hasSize(4);
        assertThat(losses.get(0)).isGreaterThan(0.8 * 4);
        assertThat(losses.get(3)).isLessThan(losses.get(0) / 4);
    }

    @Test
    void givenLogitsAreRoutedBySoftmaxOfTheTwoLargest() throws Exception {
        double first = 1 / (1 + Math.exp(-1)); // of logits that differ by 1
        List<List<String>> lines = page.run("GivenLogits");
        assertThat(lines.stream().map(line -> line.get(0) + " " + line.get(1)))
                .containsExactly("0 2", "0 4", "1 0", "1 4");
        assertThat(lines.stream().mapToDouble(line -> Double.parseDouble(line.get(2))))
                .zipSatisfy(
                        List.of(first, 1 - first, first, 1 - first),
                        (actual, expected) -> assertThat(actual).isCloseTo(expected, within(1e-12)));
    }

    /** Two added shared experts are one and become one; with a gate each they are not, and a fixed one misses much. */
    @Test
    void sharedExpertsAreJudgedAndCollapsed() throws Exception {
        List<String> lines = page.run("SharedExperts").stream()
                .map(line -> String.join(" ", line).strip())
                .toList();
        assertThat(lines)
                .hasSize(9)
                .startsWith("2 shared experts are one of width 8 + 6 = 14")
                .contains("same function: yes")
                .contains("1 shared expert now")
                .contains("2 shared experts are not one");
        String fit = lines.get(8);
        assertThat(fit).startsWith("as near as it gets: the best fixed down projection misses 0.");
        double missed = Double.parseDouble(fit.substring(fit.indexOf("0."), fit.indexOf(" of the branch")));
        assertThat(missed).isBetween(0.1, 0.9);
    }

    /** c = 4, so that all mapped settings are exact; with the old ones the rate of the routed down projections is a quarter. */
    @Test
    void aRewrittenLayerFollowsWithMappedSettingsAlone() throws Exception {
        List<List<String>> lines = page.run("AnotherConvention");
        assertThat(lines).hasSize(2);
        assertThat(String.join(" ", lines.get(0))).isEqualTo("down times 4.0 settings mapped 0.0");
        assertThat(String.join(" ", lines.get(1))).startsWith("down times 4.0 settings as they were 0.");
        assertThat(Double.parseDouble(lines.get(1).get(7))).isBetween(0.01, 1.0);
    }
}
