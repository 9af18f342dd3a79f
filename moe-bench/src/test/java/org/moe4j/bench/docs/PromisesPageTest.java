package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
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
    private static final Pattern NAMED = Pattern.compile(" -pl (\\S+)");
    private static final Pattern ASKED = Pattern.compile(" -Dtest='?([^ ']+)");
    private static final Pattern ARTIFACT = Pattern.compile("<artifactId>(moe-[a-z]+)</artifactId>");
    private static final Map<String, String> SOURCES = new HashMap<>();

    /** The modules that have a test of this name, and the modules of ours that stand in the pom.xml of one. */
    private static final Map<String, Set<String>> MODULES = new HashMap<>();

    private static final Map<String, Set<String>> NEEDED = new HashMap<>();

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

        /** Class and perhaps method of the tests that the section names. */
        List<MatchResult> tests() {
            return code("Test").stream()
                    .map(CLASS::matcher)
                    .filter(Matcher::matches)
                    .map(Matcher::toMatchResult)
                    .toList();
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
            for (Path module : modules.filter(one -> Files.isDirectory(one.resolve("src/test/java")))
                    .filter(one -> Files.exists(one.resolve("pom.xml")))
                    .toList()) {
                readTests(module);
            }
        }
        NEEDED.values().forEach(needed -> needed.retainAll(NEEDED.keySet()));
    }

    private static void readTests(Path module) throws IOException {
        String name = module.getFileName().toString();
        NEEDED.put(
                name,
                ARTIFACT.matcher(Files.readString(module.resolve("pom.xml")))
                        .results()
                        .map(one -> one.group(1))
                        .collect(Collectors.toCollection(HashSet::new)));
        try (Stream<Path> files = Files.walk(module.resolve("src/test/java"))) {
            for (Path file :
                    files.filter(one -> one.toString().endsWith(".java")).toList()) {
                String type = file.getFileName().toString().replace(".java", "");
                SOURCES.merge(type, Files.readString(file), String::concat); // two modules may use one name
                MODULES.computeIfAbsent(type, none -> new HashSet<>()).add(name);
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
        List<MatchResult> tests = promise.tests();
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
        assertThat(tests)
                .as("a test that the section names keeps the figure")
                .anyMatch(test -> kept.matcher(SOURCES.get(test.group(1))).find());
    }

    /** A command without {@code -Dtest} runs all tests of its modules. */
    @ParameterizedTest
    @MethodSource("sections")
    void aCommandRunsAllTestsThatThePromiseNames(Section promise) {
        List<String> commands = promise.code("Command");
        Set<String> run = new HashSet<>();
        for (String command : commands) {
            Matcher asked = ASKED.matcher(command);
            List<String> modules = modules(command);
            (asked.find() ? Stream.of(asked.group(1).split(",", -1)) : SOURCES.keySet().stream())
                    .map(test -> test.replaceAll("#.*", ""))
                    .filter(test -> modules.containsAll(MODULES.getOrDefault(test, Set.of("none"))))
                    .forEach(run::add);
        }
        assertThat(run)
                .containsAll(promise.tests().stream().map(test -> test.group(1)).toList());
    }

    /** Those that a command builds: the ones it names, with {@code -am} those that they need too, and all without a name. */
    private static List<String> modules(String command) {
        Matcher named = NAMED.matcher(command);
        if (!named.find()) {
            return List.copyOf(NEEDED.keySet());
        }
        List<String> modules = new ArrayList<>(List.of(named.group(1).split(",", -1)));
        if (command.contains(" -am ")) {
            for (int i = 0; i < modules.size(); i++) { // grows
                NEEDED.get(modules.get(i)).stream()
                        .filter(needed -> !modules.contains(needed))
                        .forEach(modules::add);
            }
        }
        if (modules.size() > 1 && ASKED.matcher(command).find()) {
            assertThat(command)
                    .as("modules without any of the tests")
                    .contains(" -Dsurefire.failIfNoSpecifiedTests=false");
        }
        return modules;
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
