package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.SelectionBias;

/** Equal logits, which every precision holds exactly, are routed with equal bits, whatever matrix they come in. */
class RouterPrecisionsTest {
    private static final int TOKENS = 300;

    @ParameterizedTest
    @ValueSource(
            strings = {"megatron-nemotron-3-super", "deepseek-v3", "kimi-k2", "mixtral-8x7b", "qwen3-next-80b-a3b"})
    void equalLogitsAreRoutedAlike(String preset) {
        RouterConfig config = RouterConfig.from(Preset.named(preset));
        int experts = config.experts();
        SplittableRandom random = new SplittableRandom(experts);
        double[] logits = new double[TOKENS * experts];
        Arrays.setAll(logits, i -> (float) (i / experts % 5 == 0 ? random.nextInt(3) : 3 * random.nextGaussian()));
        SelectionBias bias =
                SelectionBias.of(random.doubles(experts).map(b -> 0.1 * b).toArray());
        Routing expected = route(config, ReferenceBackend.instance(), logits, bias);
        for (Backend backend : LayerChecks.backends()) {
            Routing actual = route(config, backend, logits, bias);
            for (int t = 0; t < TOKENS; t++) {
                for (int rank = 0; rank < config.topK(); rank++) {
                    assertThat(actual.expert(t, rank)).isEqualTo(expected.expert(t, rank));
                    assertThat(actual.weight(t, rank)).isEqualTo(expected.weight(t, rank));
                }
            }
        }
    }

    private static Routing route(RouterConfig config, Backend backend, double[] logits, SelectionBias bias) {
        try (Matrix matrix = backend.matrix(TOKENS, config.experts(), logits)) {
            float[] singles = new float[logits.length];
            matrix.readRows(0, TOKENS, singles);
            for (int i = 0; i < logits.length; i += 97) {
                assertThat(singles[i]).isEqualTo((float) logits[i]);
            }
            return config.selectionBias() ? config.routing(matrix, bias) : config.routing(matrix);
        }
    }
}
