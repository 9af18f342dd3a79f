package org.moe4j.merge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.SmallPreset;

class MergeConventionTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    @TempDir
    private Path folder;

    private MergeConvention from(String merge) throws IOException {
        String lines = """
                router.topK = 2
                shared.count = 2
                shared.intermediateSize = 5
                """ + merge.replace(";", "\n");
        return MergeConvention.from(SmallPreset.of(folder, "test", 6, lines), BACKEND, 7);
    }

    @Test
    void theStudyUsesOlmo() {
        ActiveWidths widths = new ActiveWidths(4, 2560, 1280);
        assertThat(MergeConvention.from(Preset.named("olmo-study"), BACKEND, 1))
                .isEqualTo(new ScaledMerge("olmo", 4, 1, new Presumption.UnitSum(widths)));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "olmo",
                "routed-unit-sum",
                "equal-branch-mass",
                "width-proportional",
                "active-mean",
                "sum",
                "sigmoid-gated",
                "shared-router"
            })
    void everyConventionIsFoundByItsName(String name) throws IOException {
        assertThat(from("shared.apart = false;merge.convention = " + name).name())
                .isEqualTo(name);
    }

    @Test
    void widthsComeFromThePreset() throws IOException {
        assertThat(from("merge.convention = width-proportional"))
                .isEqualTo(ScaledMerge.widthProportional(new ActiveWidths(2, 4, 10)));
    }

    @Test
    void theActiveMeanHasTheTopKOfTheRouter() throws IOException {
        assertThat(from("merge.convention = active-mean")).isEqualTo(ScaledMerge.activeMean(2));
    }

    @Test
    void theGateHasTheHiddenSizeAndTheSeed() throws IOException {
        GatedMerge merge = (GatedMerge) from("shared.apart = false;merge.convention = sigmoid-gated");
        assertThat(merge.score()).isEqualTo(SharedScore.SIGMOID);
        assertThat(merge.gate().toArray())
                .containsExactly(GatedMerge.random(1, 8, SharedScore.SIGMOID, BACKEND, 7)
                        .gate()
                        .toArray());
    }

    @ParameterizedTest
    @CsvSource({
        "merge.convention = sigmoid-gated, SIGMOID",
        "merge.convention = shared-router, SOFTMAX",
        "merge.convention = shared-router;merge.score = softmax, SOFTMAX",
        "merge.convention = shared-router;merge.score = sigmoid, NORMALIZED_SIGMOID"
    })
    void expertsThatStandApartHaveAGateEach(String merge, SharedScore score) throws IOException {
        GatedMerge gated = (GatedMerge) from("shared.apart = true;" + merge);
        assertThat(gated.score()).isEqualTo(score);
        assertThat(gated.gate().rows()).isEqualTo(2);
        assertThat(gated.gate().columns()).isEqualTo(8);
        assertThat(((GatedMerge) from("shared.apart = false;" + merge)).gate().rows())
                .isEqualTo(1); // one expert of the total width
    }

    /** One gate on all and a gate for each are different models, and a file that does not say which is neither. */
    @Test
    void gatesOfSeveralExpertsNeedAWord() {
        assertThatThrownBy(() -> from("merge.convention = sigmoid-gated"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageEndingWith(
                        "shared.apart: expected true for a gate for each shared expert or false for one on all"
                                + " (merge.convention = sigmoid-gated) but was absent");
    }

    @Test
    void widthsOfExpertsThatStandApartAdd() throws IOException {
        assertThat(from("shared.apart = true;merge.convention = olmo"))
                .isEqualTo(ScaledMerge.olmo(new ActiveWidths(2, 4, 10)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"sigmoid-gated", "shared-router"})
    void aGateWithoutASharedExpertIsRefused(String convention) throws IOException {
        Preset preset = SmallPreset.of(folder, "none", 6, "merge.convention = " + convention);
        assertThatThrownBy(() -> MergeConvention.from(preset, BACKEND, 7))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("preset none: merge.convention: expected one without a gate (no section shared) but was "
                        + convention);
    }

    @Test
    void scaledReadsItsFactors() throws IOException {
        assertThat(from("merge.convention = scaled;merge.routedScale = 0.8;merge.sharedScale = 0.2"))
                .isEqualTo(ScaledMerge.scaled(.8, .2));
        assertThat(from("merge.convention = scaled;merge.routedScale = 0.8")).isEqualTo(ScaledMerge.scaled(.8, 1));
        assertThat(from("merge.convention = scaled").name()).isEqualTo("scaled(1.0, 1.0)");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "shared.count = 2|preset test: merge.convention: expected one of [active-mean, equal-branch-mass,"
                        + " olmo, routed-unit-sum, scaled, shared-router, sigmoid-gated, sum, width-proportional]"
                        + " but was absent",
                "merge.convention = mean|preset test: merge.convention: expected one of [active-mean,"
                        + " equal-branch-mass, olmo, routed-unit-sum, scaled, shared-router, sigmoid-gated, sum,"
                        + " width-proportional] but was mean",
                "merge.convention = olmo;merge.routedScale = 2|preset test: merge.routedScale: expected no value"
                        + " (merge.convention = olmo) but was 2",
                "merge.convention = sum;merge.sharedScale = 2|preset test: merge.sharedScale: expected no value"
                        + " (merge.convention = sum) but was 2",
                "merge.convention = sigmoid-gated;merge.score = sigmoid|preset test: merge.score: expected no value"
                        + " (merge.convention = sigmoid-gated) but was sigmoid",
                "merge.convention = shared-router;merge.routedScale = 2|preset test: merge.routedScale: expected no"
                        + " value (merge.convention = shared-router) but was 2",
                "merge.convention = shared-router;merge.score = norm|preset test: merge.score: expected one of"
                        + " [sigmoid, softmax] but was norm",
                "merge.conventoin = olmo|preset test: expected a known key but was merge.conventoin; did you mean merge.convention?",
            })
    void aBadPresetIsRefused(String merge, String message) {
        assertThatThrownBy(() -> from(merge.equals("shared.count = 2") ? "" : merge))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }
}
