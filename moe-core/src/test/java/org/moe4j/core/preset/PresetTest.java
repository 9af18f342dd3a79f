package org.moe4j.core.preset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.internal.Require;

class PresetTest {
    private enum Colour {
        LIGHT_RED,
        SUM_OF_TOP_2
    }

    @TempDir
    Path folder;

    private Preset load(String... lines) throws IOException {
        Path file = folder.resolve("mine.properties");
        Files.write(
                file,
                Stream.concat(Stream.of("name = Mine", "source = here"), Stream.of(lines))
                        .toList());
        return Preset.load(file);
    }

    @Test
    void theIndexListsEveryFile() throws IOException, URISyntaxException {
        Path files = Path.of(PresetTest.class
                        .getResource("/moe/preset/index.properties")
                        .toURI())
                .getParent();
        try (Stream<Path> list = Files.list(files)) {
            Set<String> names = list.map(file -> file.getFileName().toString().replace(".properties", ""))
                    .filter(name -> !name.equals("index"))
                    .collect(Collectors.toCollection(TreeSet::new));
            assertThat(Preset.names()).isEqualTo(names);
        }
    }

    @Test
    void settingsAreTheKeysOfSections() throws IOException {
        assertThat(load("router.topK = 2", "experts.count = 4", "note = x").settings())
                .hasToString("{experts.count=4, router.topK=2}");
    }

    @Test
    void everyFileNamesItsSource() {
        for (String name : Preset.names()) {
            assertThat(Preset.named(name).name()).isNotBlank();
            assertThat(Preset.named(name).source()).isNotBlank();
        }
        assertThat(Preset.named("olmo-study").note()).contains("earlier development recipe");
    }

    @Test
    void readsTypedValues() throws IOException {
        Preset preset =
                load("router.topK = 4", "router.scale = 2.5 ", "router.on = true", "router.colour = sum-of-top-2");
        PresetSection router = preset.section("router");
        assertThat(router.integer("topK")).isEqualTo(4);
        assertThat(router.decimal("scale", 1)).isEqualTo(2.5);
        assertThat(router.decimal("absent", 1)).isEqualTo(1);
        assertThat(router.flag("on", false)).isTrue();
        assertThat(router.flag("absent", false)).isFalse();
        assertThat(router.text("absent", "plain")).isEqualTo("plain");
        assertThat(router.constant("colour", Colour.class, Colour.LIGHT_RED)).isEqualTo(Colour.SUM_OF_TOP_2);
        assertThat(router.constant("absent", Colour.class, Colour.LIGHT_RED)).isEqualTo(Colour.LIGHT_RED);
        assertThat(router.isEmpty()).isFalse();
        assertThat(preset.section("shared").isEmpty()).isTrue();
        assertThat(preset).hasToString("Preset[mine]");
    }

    @Test
    void hasAsksForOneKeyOfTheSection() throws IOException {
        Preset preset = load("router.score.epsilon = 0", "shared.count = 1");
        PresetSection router = preset.section("router");
        assertThat(router.has("score.epsilon")).isTrue();
        assertThat(router.has("score")).isFalse(); // the beginning of a key is no key
        assertThat(router.has("epsilon")).isFalse();
        assertThat(router.has("count")).isFalse(); // another section's
        assertThat(preset.section("shared").has("count")).isTrue();
        assertThat(preset.section("merge").has("convention")).isFalse();
    }

    @Test
    void marksAreSortedSetsOfKeys() throws IOException {
        Preset preset = load(
                "router.topK = 4",
                "router.score = softmax",
                "experts.count = 8",
                "defaults = router.topK ,router.score",
                "chosen = experts.count");
        assertThat(preset.defaults()).containsExactly("router.score", "router.topK");
        assertThat(preset.chosen()).containsExactly("experts.count");
        assertThatThrownBy(() -> preset.chosen().clear()).isInstanceOf(UnsupportedOperationException.class);
        Preset unmarked = load("router.topK = 4");
        assertThat(unmarked.defaults()).isEmpty();
        assertThat(unmarked.chosen()).isEmpty();
        assertThat(unmarked.note()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "defaults = router.topk|defaults: expected keys of this file but was router.topk;"
                        + " did you mean router.topK?",
                "chosen = router.topK, router.scale|chosen: expected keys of this file but was router.scale;"
                        + " did you mean router.score?",
                "chosen = zzzzzzzzzzzzzzzzzz|chosen: expected keys of this file but was zzzzzzzzzzzzzzzzzz",
                "chosen = router.topK,|chosen: expected keys of this file but was nothing beside a comma",
                "defaults = name|defaults: expected keys of this file but was name",
                "defaults = router.topK, router.topK|defaults: expected each key once but was router.topK twice",
                "defaults = router.score, router.topK; chosen = router.topK"
                        + "|chosen: expected keys that are not in defaults but was router.topK",
                "chosne = router.topK|expected a known key but was chosne; did you mean chosen?",
            })
    void aMarkOfNoKeyIsAnErrorWhenThePresetIsRead(String marks, String message) {
        assertThatThrownBy(() -> load(("router.topK = 4; router.score = softmax; " + marks).split("; ")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("preset mine: " + message);
    }

    @Test
    void scalingKeepsTheMarks() throws IOException {
        Preset preset = load(
                "experts.hiddenSize = 8",
                "experts.intermediateSize = 4",
                "defaults = experts.hiddenSize",
                "chosen = experts.intermediateSize");
        assertThat(preset.scaledTo(2, 1).defaults()).isEqualTo(preset.defaults());
        assertThat(preset.scaledTo(2, 1).chosen()).isEqualTo(preset.chosen());
    }

    @Test
    void aMisspeltKeyIsAnErrorWithTheRightOne() throws IOException {
        Preset preset = load("router.topk = 4");
        assertThatThrownBy(() -> preset.section("router").rejectUnknown(Set.of("topK", "scale")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("preset mine: expected a known key but was router.topk; did you mean router.topK?");
        assertThatThrownBy(() -> load("ruoter.topK = 4"))
                .hasMessage("preset mine: expected a known key but was ruoter.topK; did you mean router.topK?");
        assertThatThrownBy(() -> load("sorce = x"))
                .hasMessage("preset mine: expected a known key but was sorce; did you mean source?");
        assertThatThrownBy(() -> load("zzzzzzzzzz.topK = 4"))
                .hasMessage("preset mine: expected a known key but was zzzzzzzzzz.topK");
    }

    @Test
    void wrongValuesAreErrors() throws IOException {
        Preset preset = load("router.topK = four", "router.scale = x", "router.on = yes", "router.colour = red");
        PresetSection router = preset.section("router");
        assertThatThrownBy(() -> router.integer("topK"))
                .hasMessage("preset mine: router.topK: expected a whole number but was four");
        assertThatThrownBy(() -> router.decimal("scale", 1))
                .hasMessage("preset mine: router.scale: expected a number, as 2.5 or 1e-20 but was x");
        assertThatThrownBy(() -> router.flag("on", false))
                .hasMessage("preset mine: router.on: expected true or false but was yes");
        assertThatThrownBy(() -> router.constant("colour", Colour.class, Colour.LIGHT_RED))
                .hasMessage("preset mine: router.colour: expected one of [light-red, sum-of-top-2] but was red");
        assertThatThrownBy(() -> router.integer("absent"))
                .hasMessage("preset mine: expected a value for router.absent but was absent");
        assertThatThrownBy(() -> load("router.topK ="))
                .hasMessage("preset mine: expected a value for router.topK but was empty");
        assertThatThrownBy(() -> load("router.topK = 1", "router.topK = 2"))
                .hasMessage("preset mine: expected each key once but was router.topK twice");
        assertThatThrownBy(() -> preset.section("routers"))
                .hasMessage(
                        "section: expected one of [capacity, experts, losses, merge, noise, router, shared] but was "
                                + "routers");
    }

    /** A file has to mean the same to every reader, so that numbers are written in the plain way only. */
    @ParameterizedTest
    @ValueSource(strings = {"1f", "0x1p3", "+1", "\u0662", "1e400", "1e-400", ".", "1.e", "1d", "NaN"})
    void numbersAreWrittenThePlainWay(String written) throws IOException {
        PresetSection router = load("router.scale = " + written).section("router");
        assertThatThrownBy(() -> router.decimal("scale", 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("preset mine: router.scale: expected a number")
                .hasMessageEndingWith("but was " + written);
        assertThatThrownBy(() -> router.integer("scale"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("preset mine: router.scale: expected a whole number but was " + written);
    }

    @Test
    void plainNumbersAreRead() throws IOException {
        PresetSection router = load(
                        "router.a = 1e-20", "router.b = 0.0", "router.c = 0e5", "router.d = -2.50E+1", "router.e = .5")
                .section("router");
        assertThat(router.decimal("a", 1)).isEqualTo(1e-20);
        assertThat(router.decimal("b", 1)).isZero();
        assertThat(router.decimal("c", 1)).isZero();
        assertThat(router.decimal("d", 1)).isEqualTo(-25);
        assertThat(router.decimal("e", 1)).isEqualTo(0.5);
        PresetSection large = load("router.topK = 2147483648").section("router");
        assertThatThrownBy(() -> large.integer("topK"))
                .hasMessage("preset mine: router.topK: expected a whole number below 2^31 but was 2147483648");
    }

    @Test
    void argumentsThatAreRefusedAreNamedAsTheirKeys() throws IOException {
        PresetSection router = load("router.topK = 1").section("router");
        assertThat(router.checked("", () -> 5)).isEqualTo(5);
        assertThatThrownBy(() -> router.checked("selection.", () -> Require.atLeast("groups", 0, 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("preset mine: router.selection.groups: expected at least 1 but was 0");
        assertThatThrownBy(() -> router.checked("x.", () -> router.positive("none")))
                .hasMessage("preset mine: expected a value for router.none but was absent");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "4|0|4|preset mine: shared.intermediateSize: expected at least 1 but was 0",
                "0|4|4|preset mine: experts.intermediateSize: expected at least 1 but was 0",
                "1|8|1000000000|intermediateSize: expected one that keeps shared.intermediateSize below 2^31"
                        + " but was 1000000000",
            })
    void scalingHidesNoFault(int routed, int shared, int to, String message) throws IOException {
        Preset preset = load("experts.intermediateSize = " + routed, "shared.intermediateSize = " + shared);
        assertThatThrownBy(() -> preset.scaledTo(4, to))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void filesOfOtherEncodingsAreReadOrNamed() throws IOException {
        Path marked = folder.resolve("marked.properties");
        Files.writeString(marked, "\uFEFFname = Marked\nsource = here\n");
        assertThat(Preset.load(marked).name()).isEqualTo("Marked");
        Path latin = folder.resolve("latin.properties");
        Files.write(latin, new byte[] {'n', 'a', 'm', 'e', '=', (byte) 0xE9, '\n'});
        assertThatThrownBy(() -> Preset.load(latin))
                .isInstanceOf(IOException.class)
                .hasMessage("preset latin: expected UTF-8 text but was something else");
        Path broken = folder.resolve("broken.properties");
        Files.writeString(broken, "name = \\u12\n");
        assertThatThrownBy(() -> Preset.load(broken))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("preset broken: expected a properties file but was ");
    }

    @Test
    void unknownPresetsListTheKnownOnes() {
        assertThatThrownBy(() -> Preset.named("olmoe"))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessage("preset: expected one of " + Preset.names() + " but was olmoe; did you mean olmoe-1b-7b?");
        assertThatThrownBy(() -> Preset.named("a model of ours"))
                .hasMessage("preset: expected one of " + Preset.names() + " but was a model of ours");
        assertThatThrownBy(() -> Preset.load(folder.resolve("none"))).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> {
                    Path file = folder.resolve("bare.properties");
                    Files.writeString(file, "name = Bare");
                    Preset.load(file);
                })
                .hasMessage("preset bare: expected a value for source but was absent");
    }

    @Test
    void scalingKeepsEverythingButTheSizes() {
        Preset scaled = Preset.named("olmo-study").scaledTo(64, 32);
        assertThat(scaled.section("experts").integer("hiddenSize")).isEqualTo(64);
        assertThat(scaled.section("experts").integer("intermediateSize")).isEqualTo(32);
        assertThat(scaled.section("shared").integer("intermediateSize")).isEqualTo(16);
        assertThat(scaled.section("experts").integer("count")).isEqualTo(48);
        assertThat(scaled.name()).isEqualTo("Olmo merge-scale study");
        assertThatThrownBy(() -> scaled.scaledTo(0, 1)).hasMessage("hiddenSize: expected at least 1 but was 0");
    }
}
