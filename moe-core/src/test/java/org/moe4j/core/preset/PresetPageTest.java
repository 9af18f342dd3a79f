package org.moe4j.core.preset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** docs/presets.md says what the files say. With {@code -Dmoe.write.docs=true} the page is made anew first. */
class PresetPageTest {
    private static final Path PAGE = Path.of("..", "docs", "presets.md");

    @TempDir
    Path folder;

    @Test
    void thePageIsWhatTheFilesGive() throws IOException {
        String page = Files.readString(PAGE);
        String renewed = PresetPage.renewed(page);
        if (Boolean.getBoolean("moe.write.docs")) {
            Files.writeString(PAGE, renewed);
            return;
        }
        assertThat(page)
                .as(
                        "docs/presets.md; to make it anew: mvn test -pl moe-core -Dtest=PresetPageTest -Dmoe.write.docs=true")
                .isEqualTo(renewed);
    }

    @Test
    void cellsAreShort() {
        for (String name : Preset.names()) {
            assertThat(PresetPage.row(name, Preset.named(name)))
                    .as(name)
                    .allSatisfy(cell -> assertThat(cell).hasSizeBetween(1, 62).doesNotContain("|", "\n"));
        }
    }

    @Test
    void aRowSaysEveryConvention() throws IOException {
        assertThat(PresetPage.row("v1.5", load("""
                        router.score = sigmoid
                        router.score.epsilon = 1e-7
                        router.selection = group-limited
                        router.selection.groups = 4
                        router.selection.keptGroups = 2
                        router.selection.groupScore = max
                        router.selection.closedGroups = zero
                        router.selectionBias = true
                        router.logitBias = true
                        router.renormalization = sum
                        router.renormalization.epsilon = 1e-20
                        router.renormalization.epsilonPlace = per-score
                        router.scale = 2.5
                        shared.count = 2
                        shared.intermediateSize = 32
                        merge.convention = scaled
                        merge.sharedScale = 0.5
                        capacity.factor = 1.25
                        noise.kind = input-jitter
                        noise.epsilon = 0.01
                        losses.loadBalancing = olmo-core
                        losses.loadBalancing.coefficient = 0.01
                        losses.load = v-moe
                        losses.load.coefficient = 1
                        losses.zLoss.coefficient = 1e-3
                        defaults = router.score
                        chosen = experts.count, router.topK
                        """)))
                .containsExactly(
                        "[`v1.5`](#v15)",
                        "Mine",
                        "8 / 2 / 64 / 16",
                        "swiglu",
                        "sigmoid + 1e-7, logit bias",
                        "input-jitter 0.01",
                        "2 of 4 groups, max, closed at 0, bias",
                        "sum + 1e-20 per-score",
                        "2.5",
                        "2 × 32",
                        "scaled 1, 0.5",
                        "1.25 up",
                        "olmo-core 0.01, load v-moe 1, z 1e-3",
                        "1 defaults, 2 chosen");
        assertThat(PresetPage.row("apart", load("""
                        shared.count = 2
                        shared.intermediateSize = 32
                        shared.apart = true
                        merge.convention = shared-router
                        merge.score = sigmoid
                        capacity.factor = 1.2
                        capacity.rounding = down
                        capacity.multipleOf = 8
                        """)))
                .contains("2 × 32, apart", "shared-router sigmoid", "1.2 down, multipleOf 8");
        assertThat(PresetPage.row("biased", load("experts.activation = relu\nexperts.biases = true\n")))
                .contains("relu, biases");
        assertThat(PresetPage.row("latent", load("experts.latentSize = 32\n"))).contains("swiglu, latent 32");
        assertThat(PresetPage.row("input", load("experts.weightPlace = input\n")))
                .contains("swiglu, weight on the input");
        assertThat(PresetPage.row("second", load("""
                        router.selection = top-two
                        router.selection.secondExpert = random
                        router.selection.threshold = 0.2
                        noise.kind = learned-normal
                        """))).contains("top-two random 0.2", "learned-normal");
        assertThat(PresetPage.row("chosen", load("router.selection = expert-choice\nrouter.selection.factor = 2\n")))
                .contains("expert-choice 2");
        assertThat(PresetPage.row("many", load("""
                        capacity.factor = 1.25
                        capacity.share = tokens
                        capacity.minimum = 4
                        capacity.order = choice
                        """))).contains("1.25 up, and 3 further keys");
        assertThat(PresetPage.row("switch", load("capacity.rows = 64\ncapacity.scope = sequences\n")))
                .contains("64 rows, scope sequences");
        assertThat(PresetPage.row("bare", load("router.renormalization = norm\nrouter.renormalization.p = 2\n")))
                .containsExactly(
                        "[`bare`](#bare)",
                        "Mine",
                        "8 / 2 / 64 / 16",
                        "swiglu",
                        "softmax",
                        "–",
                        "plain",
                        "norm 2",
                        "1",
                        "–",
                        "–",
                        "–",
                        "–",
                        "–");
    }

    @Test
    void anEntrySaysNoteSourceAndMarks() throws IOException {
        assertThat(PresetPage.entry("mine", load("note = Nobody's.\nchosen = experts.count\ndefaults = router.topK\n")))
                .isEqualTo("""
                        ### mine

                        **Mine.** Nobody's.

                        - Read from: here
                        - Defaults: `router.topK`
                        - Chosen: `experts.count`
                        """);
        assertThat(PresetPage.entry("mine", load("note =" + " word".repeat(60) + "\n"))
                        .lines())
                .allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(150))
                .hasSize(7); // heading, empty, 309 characters in three lines, empty, source
    }

    @Test
    void aPageWithoutItsPlaceIsAnError() {
        assertThatThrownBy(() -> PresetPage.renewed("# Presets\n")).isInstanceOf(IllegalArgumentException.class);
    }

    private Preset load(String lines) throws IOException {
        return Preset.load(Files.writeString(folder.resolve("mine.properties"), """
                name = Mine
                source = here
                experts.count = 8
                experts.hiddenSize = 64
                experts.intermediateSize = 16
                router.topK = 2
                """ + lines));
    }
}
