package org.moe4j.bench.peers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.bench.peers.SampleLayer.Part;

final class SampleLayerTest {
    private static final LayerSize SIZE = new LayerSize(64, 48, 8, 3);

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void weightsAreBfloat16AndTheSameForAll(long seed) {
        for (Part part : Part.values()) {
            float[] weights = new SampleLayer(SIZE, seed).weights(part, 5);
            assertThat(weights).hasSize(64 * 48).isEqualTo(new SampleLayer(SIZE, seed).weights(part, 5));
            assertThat(weights).isNotEqualTo(new SampleLayer(SIZE, seed).weights(part, 4));
            double squares = 0;
            for (float weight : weights) {
                assertThat(Float.floatToRawIntBits(weight) & 0xffff).isZero();
                squares += (double) weight * weight;
            }
            // 3072 draws: three deviations of the mean of squares are 5 %, and cutting takes 0.5 %
            assertThat(squares / weights.length * (part == Part.DOWN ? 48 : 64)).isCloseTo(1, within(0.06));
        }
    }

    @Test
    void noTokenIsNearATie() {
        SampleLayer layer = new SampleLayer(SIZE, 1);
        float[] router = layer.router();
        float[] tokens = layer.tokens(300);
        for (int token = 0; token < 300; token++) {
            double[] logits = new double[8];
            for (int e = 0; e < 8; e++) {
                for (int i = 0; i < 64; i++) {
                    logits[e] += (double) router[e * 64 + i] * tokens[token * 64 + i];
                }
            }
            Arrays.sort(logits);
            assertThat(logits[5] - logits[4]).isGreaterThanOrEqualTo(SampleLayer.LEAST_GAP);
        }
    }

    @Test
    void sizesAreNumbersOrThoseOfAPreset() {
        assertThat(LayerSize.parse("2048, 1024,64,8")).isEqualTo(LayerSize.parse("olmoe-1b-7b"));
        assertThat(LayerSize.parse("mixtral-8x7b")).isEqualTo(new LayerSize(4096, 14336, 8, 2)); // 5.6 GB
        assertThat(LayerSize.parse("deepseek-v3")).isEqualTo(new LayerSize(1792, 512, 256, 8)); // of 7168 and 2048
        assertThat(LayerSize.parse("4,3,2,2")).isEqualTo(new LayerSize(4, 3, 2, 2));
        for (String wrong : new String[] {"1,2,3", "1,2,3,4,5", "a,1,1,1", "4,3,2,3", "0,1,1,1"}) {
            assertThatThrownBy(() -> LayerSize.parse(wrong))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("size: expected");
        }
    }

    @Test
    void agreementFindsAFaultJustAboveItsLimit() {
        float[] right = {0.5f, -2, 1};
        double tolerance = Agreement.tolerance(SIZE);
        assertThat(tolerance).isEqualTo(4 * 8 * Math.scalb(1.0, -24));
        float[] near = {(float) (0.5 + 1.9 * tolerance), -2, 1};
        float[] far = {(float) (0.5 + 2.1 * tolerance), -2, 1};
        Agreement.require("a", "b", near, right, tolerance);
        assertThatThrownBy(() -> Agreement.require("a", "b", far, right, tolerance))
                .hasMessageStartingWith("a: expected the result of b");
        assertThatThrownBy(() -> Agreement.require("a", "b", new float[] {Float.NaN, -2, 1}, right, tolerance))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> Agreement.require("a", "b", new float[2], right, tolerance))
                .hasMessageContaining("expected 3 numbers");
    }
}
