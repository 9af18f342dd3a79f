package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.SmallPreset;

class RouterConfigTest {
    @TempDir
    private Path folder;

    private Preset preset(String router) throws IOException {
        return SmallPreset.of(folder, "test", 64, router);
    }

    @Test
    void theStudyRenormalises() {
        assertThat(RouterConfig.from(Preset.named("olmo-study")))
                .isEqualTo(RouterConfig.topK(48, 4).withRenormalization(new Renormalization.Sum()));
    }

    @Test
    void olmoeDoesNotRenormalise() {
        assertThat(RouterConfig.from(Preset.named("olmoe-1b-7b"))).isEqualTo(RouterConfig.topK(64, 8));
    }

    @Test
    void everyKeyIsRead() throws IOException {
        Preset preset = preset("""
                router.topK = 3
                router.score = softmax
                router.selection = plain
                router.renormalization = sum
                router.scale = 2.5
                """);
        assertThat(RouterConfig.from(preset))
                .isEqualTo(new RouterConfig(
                        64,
                        3,
                        new ScoreFunction.Softmax(),
                        new ExpertSelection.PlainTopK(),
                        new Renormalization.Sum(),
                        2.5,
                        false,
                        false,
                        RouterPrecision.BACKEND));
    }

    @Test
    void whatIsAbsentIsPlain() throws IOException {
        assertThat(RouterConfig.from(preset("router.topK = 64"))).isEqualTo(RouterConfig.topK(64, 64));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "router.topK = 65|preset test: router.topK: expected 1..64 (experts) but was 65",
                "router.topk = 2|preset test: expected a known key but was router.topk; did you mean router.topK?",
                "router.scale = 2|preset test: expected a value for router.topK but was absent",
                "router.topK = 1\\nrouter.score = tanh|preset test: router.score: expected"
                        + " one of [sigmoid, softmax, sqrt-softplus] but was tanh",
                "router.topK = 1\\nrouter.selection = best|preset test: router.selection: expected"
                        + " one of [expert-choice, group-limited, plain, sinkhorn, top-two] but was best",
                "router.topK = 1\\nrouter.renormalization = l2"
                        + "|preset test: router.renormalization: expected one of [none, norm, softmax-of-selected, sum] but was l2",
                "router.topK = 1\\nrouter.scale = 0|preset test: router.scale: expected a finite number above 0 but was 0.0",
                "router.topK = 1\\nrouter.score = sigmoid\\nrouter.score.epsilon = -1"
                        + "|preset test: router.score.epsilon: expected a finite number of at least 0 but was -1.0",
                "router.topK = 1\\nrouter.renormalization = sum\\nrouter.renormalization.epsilon = -1"
                        + "|preset test: router.renormalization.epsilon: expected a finite number of at least 0 but was -1.0",
                "router.topK = 1\\nrouter.renormalization = norm\\nrouter.renormalization.p = 0"
                        + "|preset test: router.renormalization.p: expected a finite number above 0 but was 0.0",
                "router.topK = 1\\nrouter.selection = group-limited\\nrouter.selection.groups = 7"
                        + "\\nrouter.selection.keptGroups = 1\\nrouter.selection.groupScore = max"
                        + "|preset test: router.selection.groups: expected a divisor of 64 (experts) but was 7",
            })
    void aBadPresetIsRefused(String router, String message) {
        assertThatThrownBy(() -> RouterConfig.from(preset(router.replace("\\n", "\n"))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void badCountsAreRefused() {
        assertThatThrownBy(() -> RouterConfig.topK(64, 65))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("topK: expected 1..64 (experts) but was 65");
        assertThatThrownBy(() -> RouterConfig.topK(64, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("topK: expected 1..64 (experts) but was 0");
        assertThatThrownBy(() -> RouterConfig.topK(0, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("experts: expected at least 1 but was 0");
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
    void aScaleThatIsNoFactorIsRefused(double scale) {
        RouterConfig config = RouterConfig.topK(4, 2);
        assertThatThrownBy(() -> config.withScale(scale))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("scale: expected a finite number above 0 but was " + scale);
    }

    @Test
    void withersChangeOneComponent() {
        RouterConfig config = RouterConfig.topK(8, 2).withScale(3).withRenormalization(new Renormalization.Sum());
        assertThat(config.scale()).isEqualTo(3);
        assertThat(config.renormalization()).isEqualTo(new Renormalization.Sum());
        assertThat(config.withExperts(16).experts()).isEqualTo(16);
        assertThat(config.withExperts(16).withExperts(8)).isEqualTo(config);
        assertThat(config.withTopK(8).topK()).isEqualTo(8);
        assertThat(config.withScore(new ScoreFunction.Softmax())).isEqualTo(config);
        assertThat(config.withSelection(new ExpertSelection.PlainTopK())).isEqualTo(config);
        assertThatThrownBy(() -> config.withExperts(1)).isInstanceOf(IllegalArgumentException.class);
    }

    /** By hand: sigmoids of 0, 2 and −1 are 0.5, 0.8808 and 0.2689; the bias lifts the last over the first. */
    @Test
    void routesGivenLogits() {
        RouterConfig config = RouterConfig.topK(3, 2)
                .withScore(new ScoreFunction.Sigmoid())
                .withRenormalization(new Renormalization.Sum())
                .withScale(2.5);
        Routing routing = config.routing(new double[] {0, 2, -1, 2, 0, -1});
        assertThat(routing.tokens()).isEqualTo(2);
        assertThat(new int[] {routing.expert(0, 0), routing.expert(0, 1), routing.expert(1, 0), routing.expert(1, 1)})
                .containsExactly(1, 0, 0, 1);
        double high = 1 / (1 + StrictMath.exp(-2));
        assertThat(routing.weight(0, 0)).isCloseTo(2.5 * high / (high + 0.5), within(1e-15));
        Routing biased = config.withSelectionBias(true)
                .routing(new double[] {0, 2, -1}, SelectionBias.of(new double[] {0, 0, 0.3}));
        assertThat(biased.expert(0, 1)).isEqualTo(2);
        assertThat(config.routing(new double[0]).tokens()).isZero();
    }

    @Test
    void logitsThatCannotBeRoutedAreRefused() {
        RouterConfig config = RouterConfig.topK(3, 2);
        assertThatThrownBy(() -> config.routing(new double[4]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("logits: expected a multiple of 3 numbers (experts) but was 4");
        assertThatThrownBy(() -> config.routing(new double[] {0, 0, 0, 0, Double.NaN, 0}))
                .isInstanceOf(ArithmeticException.class)
                .hasMessage("router logits: expected finite values but token 1, expert 1 is NaN");
        assertThatThrownBy(() -> config.routing(new double[3], SelectionBias.zeros(3)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("config.selectionBias: expected true with a selection bias but was false");
        RouterConfig biased = config.withSelectionBias(true);
        assertThatThrownBy(() -> biased.routing(new double[3]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("selectionBias: expected a SelectionBias (config.selectionBias) but was absent");
        assertThatThrownBy(() -> biased.routing(new double[3], SelectionBias.zeros(4)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("selectionBias: expected 3 values (experts) but was 4");
    }

    @Test
    void routesLogitsOfAMatrix() {
        RouterConfig config = RouterConfig.topK(3, 2).withScore(new ScoreFunction.Sigmoid());
        double[] logits = {0, 2, -1, 2, 0, -1};
        try (Matrix matrix = ReferenceBackend.instance().matrix(2, 3, logits)) {
            for (SelectionBias bias : List.of(SelectionBias.zeros(3), SelectionBias.of(new double[] {0, 0, 1}))) {
                Routing routing = config.withSelectionBias(true).routing(matrix, bias);
                Routing expected = config.withSelectionBias(true).routing(logits, bias);
                for (int slot = 0; slot < 4; slot++) {
                    assertThat(routing.expert(slot / 2, slot % 2)).isEqualTo(expected.expert(slot / 2, slot % 2));
                    assertThat(routing.weight(slot / 2, slot % 2)).isEqualTo(expected.weight(slot / 2, slot % 2));
                }
            }
            assertThat(config.routing(matrix).expert(0, 0)).isEqualTo(1);
            assertThatThrownBy(() -> config.withExperts(4).routing(matrix))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("logits: expected 4 columns (experts) but was 3");
        }
    }

    @Test
    void aSingleLogitThatIsNotFiniteIsFoundAnywhere() {
        for (int place : new int[] {0, 511, 512, 1499}) {
            for (float bad : new float[] {Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY}) {
                float[] logits = new float[1500];
                logits[place] = bad;
                assertThatThrownBy(() -> LogitRows.of(3, logits, 10))
                        .isInstanceOf(ArithmeticException.class)
                        .hasMessageContaining("token " + (10 + place / 3) + ", expert " + place % 3 + " is " + bad);
            }
        }
    }

    /** Wherever it stands among many, in the blocks that are checked at once or after them. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 511, 512, 700, 1023, 1024, 1499})
    void aLogitThatIsNotFiniteIsFoundAnywhere(int place) {
        RouterConfig config = RouterConfig.topK(3, 2);
        for (double bad : new double[] {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY}) {
            double[] logits = new double[1500];
            logits[place] = bad;
            assertThatThrownBy(() -> config.routing(logits))
                    .isInstanceOf(ArithmeticException.class)
                    .hasMessageContaining("token " + place / 3 + ", expert " + place % 3 + " is " + bad);
        }
    }
}
