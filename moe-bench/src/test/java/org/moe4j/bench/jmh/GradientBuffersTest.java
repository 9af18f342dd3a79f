package org.moe4j.bench.jmh;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.bench.limits.CheckedLayer;
import org.moe4j.bench.limits.LayerKind;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.preset.Preset;

class GradientBuffersTest {
    @ParameterizedTest
    @EnumSource
    void gradientsOfASmallLayerPass(LayerKind kind) {
        for (Preset preset : new Preset[] {
            Models.small(),
            Preset.named("olmo-study").scaledTo(24, 16),
            Preset.named("deepseek-v3").scaledTo(24, 16)
        }) {
            try (CheckedLayer layer = new CheckedLayer(preset, kind);
                    Matrix tokens = CheckedLayer.tokens(preset, kind.backend(), 7);
                    GradientBuffers buffers = GradientBuffers.of(layer.layer())) {
                buffers.check(layer.layer(), tokens, tokens);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 5})
    void whatIsThereAlreadyIsFound(int count) {
        try (CheckedLayer layer = new CheckedLayer(Models.small(), LayerKind.ND4J);
                Matrix tokens = CheckedLayer.tokens(Models.small(), LayerKind.ND4J.backend(), count);
                GradientBuffers buffers = GradientBuffers.of(layer.layer());
                MoePass pass = layer.layer().forward(tokens)) {
            buffers.add(pass, tokens).close();
            assertThatThrownBy(() -> buffers.check(layer.layer(), tokens, tokens))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageStartingWith("gradients: expected weights times gradients (down)");
        }
    }
}
