package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every promise of docs/promises.md names tests that there are, which keep its figure, a figure with its date, and a command that runs them. */
final class PromisesPageTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Pattern SECTION = Pattern.compile("(?ms)^## (\\d+)\\. ([^\\n]+)\\n(.*?)(?=^## |\\z)");
    private static final Pattern CODE = Pattern.compile("`([^`]+)`");
    private static final Pattern CLASS = Pattern.compile("([A-Z]\\w+Test)(?:\\.(\\w+))?");
    private static final Map<String, String> SOURCES = new HashMap<>();

    private record Section(int number, String title, String text) {
        /** What follows {@code - label: }, with the lines that go on. */
        String line(String label) {
            Matcher line =
                    Pattern.compile("(?ms)^- " + label + ": (.+?)(?=^- |\\z)").matcher(text);
            assertThat(line.find()).as("%s of promise %d", label, number).isTrue();
            return line.group(1).strip();
        }

        List<String> code(String label) {
            return CODE.matcher(line(label)).results().map(one -> one.group(1)).toList();
        }

        @Override
        public String toString() {
            return number + ". " + title;
        }
    }

    private static List<Section> sections() throws IOException {
        return SECTION.matcher(Files.readString(ROOT.resolve("docs/promises.md")))
                .results()
                .map(one -> new Section(Integer.parseInt(one.group(1)), one.group(2), one.group(3)))
                .toList();
    }

    /** The tests of all modules by their simple names. */
    @BeforeAll
    static void readTests() throws IOException {
        try (Stream<Path> modules = Files.list(ROOT)) {
            for (Path tests : modules.map(module -> module.resolve("src/test/java"))
                    .filter(Files::isDirectory)
                    .toList()) {
                try (Stream<Path> files = Files.walk(tests)) {
                    for (Path file : files.filter(one -> one.toString().endsWith(".java"))
                            .toList()) {
                        String name = file.getFileName().toString();
                        SOURCES.merge(
                                name.substring(0, name.length() - ".java".length()),
                                Files.readString(file),
                                String::concat); // two modules may use one name
                    }
                }
            }
        }
    }

    @Test
    void promisesAreNumberedFromOneToTwentyFive() throws IOException {
        assertThat(sections().stream().map(Section::number))
                .containsExactlyElementsOf(IntStream.rangeClosed(1, 25).boxed().toList());
    }

    @ParameterizedTest
    @MethodSource("sections")
    void aPromiseNamesTestsThatKeepItsFigure(Section promise) {
        List<MatchResult> tests = promise.code("Test").stream()
                .map(CLASS::matcher)
                .filter(Matcher::matches)
                .map(Matcher::toMatchResult)
                .toList();
        assertThat(tests).isNotEmpty();
        assertThat(tests).allSatisfy(test -> {
            assertThat(SOURCES.keySet()).contains(test.group(1));
            if (test.group(2) != null) {
                assertThat(SOURCES.get(test.group(1)).contains("void " + test.group(2) + "("))
                        .as(test.group())
                        .isTrue();
            }
        });
        Pattern kept = Pattern.compile("\\bmeasured\\(\\s*" + promise.number() + ",");
        assertThat(SOURCES.values().stream()
                        .anyMatch(source -> kept.matcher(source).find()))
                .as("a test keeps the figure of promise %d", promise.number())
                .isTrue();
    }

    @ParameterizedTest
    @MethodSource("sections")
    void aFigureHasItsDate(Section promise) {
        assertThat(promise.line("Measured")).containsPattern("\\b20\\d\\d-\\d\\d-\\d\\d\\b");
        assertThat(promise.line("Measured").replaceAll("\\b20\\d\\d-\\d\\d-\\d\\d\\b", ""))
                .containsPattern("\\d");
    }

    @ParameterizedTest
    @MethodSource("sections")
    void aCommandNamesModulesAndTestsThatThereAre(Section promise) {
        List<String> commands = promise.code("Command");
        assertThat(commands).isNotEmpty();
        for (String command : commands) {
            assertThat(command).startsWith("mvn -B -ntp ");
            for (String word : command.split(" ", -1)) {
                if (word.startsWith("-Dtest=")) {
                    for (String test :
                            word.substring("-Dtest=".length()).replace("'", "").split(",", -1)) {
                        assertThat(SOURCES.keySet()).contains(test.replaceAll("#.*", ""));
                    }
                } else if (word.startsWith("moe-")) {
                    for (String module : word.split(",", -1)) {
                        assertThat(ROOT.resolve(module).resolve("pom.xml")).exists();
                    }
                }
            }
        }
    }
}
