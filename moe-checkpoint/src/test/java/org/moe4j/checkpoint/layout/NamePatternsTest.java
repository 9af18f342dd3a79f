package org.moe4j.checkpoint.layout;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class NamePatternsTest {
    private final NamePatterns<String> patterns = new NamePatterns<>(List.of("model.", "model.text."));

    NamePatternsTest() {
        patterns.add("{prefix}layers.{layer}.mlp.experts.{expert}.up.weight", "up");
        patterns.add("{prefix}layers.{layer}.mlp.fused", "first");
        patterns.add("{prefix}layers.{layer}.mlp.fused", "second");
        patterns.add("{prefix}layers.{layer}.*", "layer");
        patterns.add("{prefix}layers.{layer}.mlp.*", "mlp");
        patterns.add("head.weight", "head");
    }

    private NamePatterns.Found<String> found(String name) {
        return patterns.find(name).orElseThrow();
    }

    @Test
    void numbersBetweenDotsAreLayerAndExpert() {
        assertThat(found("model.layers.12.mlp.experts.255.up.weight"))
                .isEqualTo(new NamePatterns.Found<>("up", OptionalInt.of(12), false));
        assertThat(found("model.text.layers.0.mlp.experts.0.up.weight").value()).isEqualTo("up");
        assertThat(found("head.weight")).isEqualTo(new NamePatterns.Found<>("head", OptionalInt.empty(), false));
    }

    @Test
    void theFirstOfEqualPatternsCounts() {
        assertThat(found("model.layers.3.mlp.fused").value()).isEqualTo("first");
    }

    @Test
    void theLongestStarCountsWhereNoWholePatternDoes() {
        assertThat(found("model.layers.3.mlp.else"))
                .isEqualTo(new NamePatterns.Found<>("mlp", OptionalInt.of(3), true));
        assertThat(found("model.layers.3.attn.q").value()).isEqualTo("layer");
    }

    @Test
    void otherNamesAreNotFound() {
        assertThat(patterns.find("layers.0.mlp.fused")).isEmpty();
        assertThat(patterns.find("model.layers.x.mlp.fused")).isEmpty();
        assertThat(patterns.find("model.layers.1234567890.mlp.fused")).isEmpty();
        assertThat(patterns.find("head.weight.more")).isEmpty();
        assertThat(patterns.find("")).isEmpty();
    }
}
