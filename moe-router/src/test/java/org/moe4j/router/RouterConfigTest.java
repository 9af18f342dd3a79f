package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.preset.Preset;

class RouterConfigTest {
    @TempDir
    private Path folder;

    private Preset preset(String router) throws IOException {
        String text = """
                name = Test
                source = nobody
                experts.count = 64
                experts.hiddenSize = 8
                experts.intermediateSize = 4
                """ + router;
        return Preset.load(Files.writeString(folder.resolve("test.properties"), text));
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
                "router.topK = 65|topK: expected 1..64 (experts) but was 65",
                "router.topk = 2|preset test: unknown key router.topk; did you mean router.topK?",
                "router.scale = 2|preset test: expected a value for router.topK but was absent",
                "router.topK = 1\\nrouter.score = tanh|preset test: router.score: expected"
                        + " one of [sigmoid, softmax, sqrt-softplus] but was tanh",
                "router.topK = 1\\nrouter.selection = best|preset test: router.selection: expected"
                        + " one of [group-limited, plain] but was best",
                "router.topK = 1\\nrouter.renormalization = l2"
                        + "|preset test: router.renormalization: expected one of [none, norm, softmax-of-selected, sum] but was l2",
                "router.topK = 1\\nrouter.scale = 0|scale: expected a finite number above 0 but was 0.0",
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
}
