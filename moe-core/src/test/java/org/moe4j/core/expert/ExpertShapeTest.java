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
import org.moe4j.core.backend.Activation;
import org.moe4j.core.dispatch.WeightPlace;
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

    @Test
    void aLatentSizeIsTheWidthOfRoutedExpertsAlone() throws IOException {
        Preset latent = preset("experts.latentSize = 2;shared.count = 1;shared.intermediateSize = 5");
        assertThat(ExpertShape.routed(latent)).isEqualTo(new ExpertShape(6, 2, 4));
        assertThat(ExpertShape.shared(latent)).containsExactly(new ExpertShape(1, 8, 5));
        assertThat(ExpertShape.tokenWidth(latent)).isEqualTo(8);
        assertThat(ExpertShape.latentSize(latent)).hasValue(2);
        Preset larger = latent.scaledTo(84, 4); // a quarter of the hidden size, as before
        assertThat(ExpertShape.latentSize(larger)).hasValue(21);
        assertThat(ExpertShape.latentSize(latent.scaledTo(1, 1))).hasValue(1);
        assertThat(ExpertShape.latentSize(preset(""))).isEmpty();
        Preset wrong = preset("experts.latentSize = 0");
        assertThatThrownBy(() -> ExpertShape.routed(wrong))
                .hasMessage("preset test: experts.latentSize: expected at least 1 but was 0");
    }

    @Test
    void theWeightsPlaceIsAWord() throws IOException {
        assertThat(WeightPlace.from(preset(""))).isEqualTo(WeightPlace.OUTPUT);
        assertThat(WeightPlace.from(preset("experts.weightPlace = output"))).isEqualTo(WeightPlace.OUTPUT);
        assertThat(WeightPlace.from(preset("experts.weightPlace = input"))).isEqualTo(WeightPlace.INPUT);
        Preset wrong = preset("experts.weightPlace = both");
        assertThatThrownBy(() -> WeightPlace.from(wrong))
                .hasMessage("preset test: experts.weightPlace: expected one of [input, output] but was both");
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
                "shared.count = 2;shared.intermediateSize = 5;shared.appart = true|preset test: expected a known key but was"
                        + " shared.appart; did you mean shared.apart?",
            })
    void aBadSectionIsRefused(String shared, String message) throws IOException {
        Preset preset = preset(shared);
        assertThatThrownBy(() -> ExpertShape.shared(preset))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void everyKindCountsItsNumbers() {
        ExpertShape plain = new ExpertShape(128, 1024, 2688, new Activation.ReluSquared(), false);
        assertThat(plain.parameters()).isEqualTo(704_643_072L); // 2·128·1024·2688
        assertThat(plain.flopsPerToken(6)).isEqualTo(66_060_288L); // 2·2·6·1024·2688
        ExpertShape biased = new ExpertShape(32, 2880, 2880, new Activation.ClampedSwiGlu(1.702, 7, 1), true);
        assertThat(biased.parameters()).isEqualTo(796_538_880L); // 32·(3·2880² + 3·2880)
        assertThat(biased.flopsPerToken(4)).isEqualTo(199_100_160L); // 4·(6·2880² + 3·2880)
        ExpertShape both = new ExpertShape(2, 5, 3, new Activation.Relu(), true);
        assertThat(both.parameters()).isEqualTo(76); // 2·(2·15 + 3 + 5)
    }

    private Preset kind(String experts) throws IOException {
        return SmallPreset.of(
                folder, "test", 6, experts.replace(";", "\n") + "\nshared.count = 2\nshared.intermediateSize = 5");
    }

    @Test
    void aPresetNamesActivationAndBiases() throws IOException {
        Activation oss = new Activation.ClampedSwiGlu(1.702, 7, 1);
        Preset preset = kind("experts.activation = clamped-swiglu;experts.activation.alpha = 1.702;"
                + "experts.activation.limit = 7;experts.activation.offset = 1;experts.biases = true");
        assertThat(ExpertShape.routed(preset)).isEqualTo(new ExpertShape(6, 8, 4, oss, true));
        assertThat(ExpertShape.shared(preset)).containsExactly(new ExpertShape(1, 8, 10, oss, true));
        assertThat(ExpertShape.routed(preset.scaledTo(16, 6))).isEqualTo(new ExpertShape(6, 16, 6, oss, true));
        Preset latent = kind("experts.activation = relu-squared;experts.latentSize = 2");
        assertThat(ExpertShape.routed(latent)).isEqualTo(new ExpertShape(6, 2, 4, new Activation.ReluSquared(), false));
        assertThat(ExpertShape.shared(latent))
                .containsExactly(new ExpertShape(1, 8, 10, new Activation.ReluSquared(), false));
        assertThat(ExpertShape.tokenWidth(latent)).isEqualTo(8);
    }

    @ParameterizedTest
    @CsvSource({
        "swiglu, SwiGlu[]",
        "silu, Silu[]",
        "relu, Relu[]",
        "relu-squared, ReluSquared[]",
        "gelu-exact, GeluExact[]",
        "gelu-tanh, GeluTanh[]"
    })
    void everyActivationHasAWord(String word, String activation) throws IOException {
        assertThat(ExpertShape.routed(kind("experts.activation = " + word)).activation())
                .hasToString(activation);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "experts.activation = gelu|preset test: experts.activation: expected one of [clamped-swiglu, gelu-exact,"
                        + " gelu-tanh, relu, relu-squared, silu, swiglu] but was gelu",
                "experts.activation = clamped-swiglu;experts.activation.alpha = 1;experts.activation.limit = 7|preset"
                        + " test: experts.activation.offset: expected a number (experts.activation = clamped-swiglu) but"
                        + " was absent",
                "experts.activation = relu;experts.activation.limit = 7|preset test: experts.activation: expected"
                        + " clamped-swiglu (experts.activation.limit is given) but was relu",
                "experts.activation = clamped-swiglu;experts.activation.alpha = 1;experts.activation.limit ="
                        + " -7;experts.activation.offset = 0|preset test: experts.activation.limit: expected a positive"
                        + " number but was -7.0",
                "experts.biases = yes|preset test: experts.biases: expected true or false but was yes",
                "experts.bias = true|preset test: expected a known key but was experts.bias; did you mean experts.biases?",
                "experts.latent = 4|preset test: expected a known key but was experts.latent; did you mean experts.latentSize?",
            })
    void aBadKindIsRefused(String experts, String message) throws IOException {
        Preset preset = kind(experts);
        assertThatThrownBy(() -> ExpertShape.routed(preset))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }
}
