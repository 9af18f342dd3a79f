package org.moe4j.bench.limits;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.core.backend.BankPart;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.preset.Preset;

class CheckedLayerTest {
    private static final ExpertShape SHAPE = new ExpertShape(2, 24, 40);

    @ParameterizedTest
    @EnumSource
    void layersWithAndWithoutASharedExpertPass(LayerKind kind) {
        for (String name : new String[] {"olmoe-1b-7b", "olmo-study", "deepseek-v3"}) {
            Preset preset = Preset.named(name).scaledTo(24, 16);
            try (CheckedLayer layer = new CheckedLayer(preset, kind);
                    Matrix tokens = CheckedLayer.tokens(preset, kind.backend(), 3)) {
                layer.check(tokens);
            }
        }
    }

    @Test
    void aNumberThatIsOffIsFound() {
        double[] expected = {3, -4};
        double limit = 4 * Math.sqrt(2) * 0x1p-24 * 4;
        CheckedLayer.compare(expected, new double[] {3 + 0.9 * limit, -4}, 0x1p-24);
        assertThatThrownBy(() -> CheckedLayer.compare(expected, new double[] {3 + 1.1 * limit, -4}, 0x1p-24))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> CheckedLayer.compare(expected, new double[] {Double.NaN, -4}, 0x1p-24))
                .isInstanceOf(IllegalStateException.class);
    }

    @ParameterizedTest
    @EnumSource
    void weightsAreBfloat16WhereTheKindSaysSo(LayerKind kind) {
        try (FeedForwardExperts experts = kind.experts(SHAPE, 1);
                Parameters first = experts.expert(0);
                Parameters second = experts.expert(1)) {
            double[] up = first.get(BankPart.UP.key()).toArray();
            boolean short16 = Arrays.stream(up).allMatch(value -> (Float.floatToIntBits((float) value) & 0xffff) == 0);
            assertThat(short16).isEqualTo(kind == LayerKind.VECTOR_BFLOAT16);
            double bound = Math.sqrt(3.0 / 24);
            assertThat(Arrays.stream(up).map(Math::abs).max().orElse(0)).isBetween(0.9 * bound, bound);
            double variance =
                    Arrays.stream(up).map(value -> value * value).average().orElse(0);
            assertThat(variance).isBetween(0.8 / 24, 1.2 / 24);
            assertThat(second.get(BankPart.UP.key()).toArray()).isNotEqualTo(up);
        }
    }
}
