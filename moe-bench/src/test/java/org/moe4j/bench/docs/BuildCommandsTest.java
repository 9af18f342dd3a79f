package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.bench.docs.DocumentedText.Block;
import org.moe4j.bench.docs.DocumentedText.Command;

/** What {@code mvn}, {@code java} and script commands on pages name is there: phases, modules, profiles, tests, properties, files. */
final class BuildCommandsTest {
    private static final Path ROOT = DocumentedText.ROOT;
    private static final Set<String> PHASES =
            Set.of("clean", "validate", "compile", "test-compile", "test", "package", "verify", "install", "deploy");
    private static final Set<String> FLAGS = Set.of("-B", "-ntp", "-o", "-q", "-am", "-N", "-U");
    private static final Pattern OF_PLUGINS =
            Pattern.compile("(?:surefire|maven|mdep|alt|jacoco|skip|project)[A-Za-z.]*");

    static Stream<Command> mavenCommands() {
        return DocumentedText.commands().stream()
                .filter(command ->
                        command.name().equals("mvn") || command.name().equals("./mvnw"))
                .filter(command -> !command.words().isEmpty()); // the word, in prose
    }

    private static Stream<Path> files(String ending) throws IOException {
        List<Path> found = new ArrayList<>();
        try (Stream<Path> all = Files.walk(ROOT, 16)) {
            all.filter(file -> file.getFileName().toString().endsWith(ending))
                    .filter(file -> !file.toString().contains("target")
                            && !file.toString().contains(".git"))
                    .forEach(found::add);
        }
        return found.stream();
    }

    private static String poms() throws IOException {
        return files("pom.xml").map(DocumentedText::text).collect(Collectors.joining("\n"));
    }

    @ParameterizedTest
    @MethodSource("mavenCommands")
    void whatMavenIsAskedForIsThere(Command command) throws IOException {
        String poms = poms();
        List<String> words = command.words();
        int goals = 0;
        for (int i = 0; i < words.size(); i++) {
            String word = words.get(i);
            if (word.equals("-pl") || word.equals("-f") || word.equals("-rf")) {
                for (String module : words.get(++i).split(",", -1)) {
                    assertThat(ROOT.resolve(module.replaceFirst("^:", ""))).exists();
                }
            } else if (word.startsWith("-P")) {
                for (String profile : word.substring(2).split(",", -1)) {
                    assertThat(poms).as(command.toString()).contains("<id>" + profile + "</id>");
                }
            } else if (word.startsWith("-D")) {
                property(word.substring(2), poms, command);
            } else if (!FLAGS.contains(word)) {
                goals++;
                assertThat(PHASES.contains(word) || isGoal(word, poms))
                        .as(word + " of " + command)
                        .isTrue();
            }
        }
        assertThat(goals).as("goals of " + command).isPositive();
    }

    private static boolean isGoal(String word, String poms) {
        String prefix = word.replaceFirst(":.*", "");
        return word.contains(":")
                && (poms.contains("<artifactId>" + prefix + "-maven-plugin<")
                        || poms.contains("<artifactId>maven-" + prefix + "-plugin<"));
    }

    private static void property(String definition, String poms, Command command) throws IOException {
        String name = definition.replaceFirst("=.*", "");
        String value = definition.substring(definition.indexOf('=') + 1);
        if (name.equals("test")) {
            Set<String> tests = files(".java")
                    .map(file -> file.getFileName().toString().replace(".java", ""))
                    .collect(Collectors.toCollection(TreeSet::new));
            for (String test : value.split(",", -1)) {
                String pattern = test.replaceFirst("[#+].*", "").replace("*", ".*");
                assertThat(tests).as(command.toString()).anyMatch(name1 -> name1.matches(pattern));
            }
        } else if (!OF_PLUGINS.matcher(name).matches()) {
            boolean inPoms = poms.contains("<" + name + ">") || poms.contains("${" + name + "}");
            assertThat(inPoms || readByATest(name)).as(name + " of " + command).isTrue();
        }
    }

    private static boolean readByATest(String property) throws IOException {
        return files(".java").anyMatch(file -> DocumentedText.text(file).contains("\"" + property + "\""));
    }

    @Test
    void scriptsThatPagesNameCanBeRun() {
        List<Command> scripts = DocumentedText.commands().stream()
                .filter(command -> command.name().matches("(\\.ci|[a-z]+)/.*"))
                .toList();
        assertThat(scripts)
                .isNotEmpty()
                .allSatisfy(script -> assertThat(ROOT.resolve(script.name())).isExecutable());
    }

    static Stream<Command> javaCommands() {
        return DocumentedText.commands().stream()
                .filter(command -> command.name().equals("java"));
    }

    @ParameterizedTest
    @MethodSource("javaCommands")
    void javaCommandsNameModulesAndClassesThereAre(Command command) {
        List<String> words = command.words();
        int module = words.indexOf("--add-modules");
        if (module >= 0) {
            assertThat(ModuleFinder.ofSystem().find(words.get(module + 1))).isPresent();
        }
        String page = command.place().replaceFirst(":\\d+$", "");
        String programs = DocumentedText.blocks(ROOT.resolve(page)).stream()
                .filter(block -> block.kind().equals("java"))
                .map(Block::text)
                .collect(Collectors.joining("\n"));
        words.stream()
                .filter(word -> word.matches("[A-Z][A-Za-z]+"))
                .forEach(name -> assertThat(programs).contains("class " + name));
        assertThat(Arrays.asList("--add-modules", "-jar", "-cp"))
                .as(command.toString())
                .containsAnyElementsOf(words);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "verify -Pnothing",
                "verify -pl moe-nothing",
                "test -Dtest=NothingTest",
                "verify -Dmoe.nothing=1",
                "verfiy",
                "nothing:apply",
                "-B"
            })
    void whatIsNotThereIsFound(String words) {
        Command command = new Command("page:1", true, List.of(), "mvn", List.of(words.split(" ", -1)));
        assertThatThrownBy(() -> whatMavenIsAskedForIsThere(command)).isInstanceOf(AssertionError.class);
    }
}
