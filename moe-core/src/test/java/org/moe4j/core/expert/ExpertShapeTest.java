package org.moe4j.core.expert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.testing.SmallPreset;

class ExpertShapeTest {
    @TempDir
    private Path folder;

    private Preset preset(String shared) throws IOException {
        return SmallPreset.of(folder, "test", 6, shared.replace(";", "\n"));
    }

    @Test
    void shapesCountTheirNumbers() {
        ExpertShape shape = ExpertShape.routed(Preset.named("olmoe-1b-7b"));
        assertThat(shape).isEqualTo(new ExpertShape(64, 2048, 1024));
        assertThat(shape.parameters()).isEqualTo(402_653_184L); // 3·64·2048·1024
        assertThat(shape.flopsPerToken(8)).isEqualTo(100_663_296L); // 2·3·8·2048·1024
        assertThatThrownBy(() -> new ExpertShape(0, 1, 1)).hasMessage("count: expected at least 1 but was 0");
        assertThatThrownBy(() -> shape.flopsPerToken(65)).hasMessage("topK: expected 1..64 (experts) but was 65");
    }

    @Test
    void withoutTheSectionThereIsNoSharedExpert() {
        assertThat(ExpertShape.shared(Preset.named("olmoe-1b-7b"))).isEmpty();
        assertThat(ExpertShape.shared(Preset.named("olmo-study"))).containsExactly(new ExpertShape(1, 2560, 1280));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ";shared.apart = false"})
    void sharedExpertsAreOneOfTheirTotalWidth(String apart) throws IOException {
        assertThat(ExpertShape.shared(preset("shared.count = 3;shared.intermediateSize = 5" + apart)))
                .containsExactly(new ExpertShape(1, 8, 15));
    }

    @Test
    void apartTheyKeepTheirWidth() throws IOException {
        Preset preset = preset("shared.count = 3;shared.intermediateSize = 5;shared.apart = true");
        ExpertShape one = new ExpertShape(1, 8, 5);
        assertThat(ExpertShape.shared(preset)).containsExactly(one, one, one);
        ExpertShape small = new ExpertShape(1, 80, 50);
        assertThat(ExpertShape.shared(preset.scaledTo(80, 40))).containsExactly(small, small, small);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "shared.count = 0;shared.intermediateSize = 5|preset test: shared.count: expected at least 1 (without"
                        + " shared experts, leave the section out) but was 0",
                "shared.count = 1;shared.intermediateSize = 5;shared.apart = true|preset test: shared.count: expected"
                        + " at least 2 (shared.apart = true) but was 1",
                "shared.count = 65536;shared.intermediateSize = 32768|preset test: shared.intermediateSize: expected"
                        + " a total width below 2^31 but was 2147483648 in all",
                "shared.count = 65536;shared.intermediateSize = 32768;shared.apart = true|preset test:"
                        + " shared.intermediateSize: expected a total width below 2^31 but was 2147483648 in all",
                "shared.count = 2;shared.intermediateSize = 5;shared.apart = yes|preset test: shared.apart: expected"
                        + " true or false but was yes",
                "shared.count = 2;shared.intermediateSize = -5|preset test: shared.intermediateSize: expected at least 1"
                        + " but was -5",
                "shared.count = 2;shared.intermediateSize = 5;shared.appart = true|preset test: unknown key"
                        + " shared.appart; did you mean shared.apart?",
            })
    void aBadSectionIsRefused(String shared, String message) throws IOException {
        Preset preset = preset(shared);
        assertThatThrownBy(() -> ExpertShape.shared(preset))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }
}
