package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.bench.cli.DocumentedCommands;
import org.moe4j.bench.cli.DocumentedCommands.Outcome;
import org.moe4j.bench.docs.DocumentedText.Block;
import org.moe4j.bench.docs.DocumentedText.Command;

/** Every {@code ./moe} command on a page is understood by the command line, and runs. */
final class MoeCommandsTest {
    /** What runs too long or needs a download, and the test that runs it small; its words are parsed all the same. */
    private static final Map<String, String> ELSEWHERE = Map.of(
            "study merge-scale", "MergeScaleQuickTest",
            "study balancing", "BalancingCommandTest",
            "study reparameterization", "ReparameterizationCommandTest",
            "study shared-collapse", "SharedCollapseCommandTest",
            "study shared-budget", "SharedBudgetCommandTest",
            "bench limits", "LimitsPageTest",
            "bench peers", "PeersRunTest",
            "bench topk-sweep", "TopKSweepCommandTest");

    /** Options of other programs that pages name on their own. */
    private static final Set<String> OF_OTHERS =
            Set.of("--add-modules", "--enable-native-access", "--sun-misc-unsafe-memory-access");

    private static final Pattern OPTION = Pattern.compile("--[a-z][a-z-]*");

    @TempDir
    static Path temporary;

    private static DocumentedCommands fixtures;
    private static List<String> benchmarks = List.of();

    /** A form of a command is run once: subcommand and options. */
    private static final Set<String> RUN = new HashSet<>();

    @BeforeAll
    static void prepare() {
        fixtures = new DocumentedCommands(temporary);
        benchmarks = DocumentedCommands.run(List.of("bench")).out().lines().toList();
    }

    static Stream<Command> commands() {
        return DocumentedText.commands().stream()
                .filter(command -> command.name().endsWith("moe"));
    }

    /** Inline code may name a command without its options. */
    private static boolean mention(Command command) {
        return !command.whole()
                && (command.words().contains("…")
                        || command.name().equals("moe")
                        || Arrays.asList(DocumentedCommands.subcommand(command.words())
                                        .split(" ", -1))
                                .containsAll(command.words()));
    }

    @ParameterizedTest
    @MethodSource("commands")
    void commandsRun(Command command) throws IOException {
        String subcommand = DocumentedCommands.subcommand(command.words());
        if (mention(command)) {
            List<String> named = command.words().stream()
                    .takeWhile(word -> word.matches("[a-z-]+") && !word.startsWith("-"))
                    .toList();
            assertThat(subcommand).isEqualTo(String.join(" ", named));
            return;
        }
        List<String> words = fixtures.withFixtures(command.words());
        DocumentedCommands.parse(words);
        if (subcommand.equals("bench") && !words.equals(List.of("bench"))) {
            isABenchmark(words);
        } else if (!ELSEWHERE.containsKey(subcommand) && RUN.add(form(subcommand, words))) {
            Outcome outcome = DocumentedCommands.run(words);
            assertThat(outcome.status()).as(command + "\n" + outcome.err()).isZero();
        }
    }

    private static String form(String subcommand, List<String> words) {
        return subcommand
                + words.stream().filter(word -> word.startsWith("-")).sorted().toList();
    }

    /** It would measure in JVMs of its own: the list of benchmarks has its name and its parameters. */
    private static void isABenchmark(List<String> words) {
        List<String> found = benchmarks.stream()
                .filter(line -> line.split(" ", 2)[0].contains(words.get(1)))
                .toList();
        assertThat(found).as("benchmarks " + words.get(1)).isNotEmpty();
        for (int i = 0; i < words.size(); i++) {
            if (words.get(i).equals("--param")) {
                String parameter = "  " + words.get(i + 1).replaceAll("=.*", "=");
                assertThat(found).as(parameter).anyMatch(line -> line.contains(parameter));
            }
        }
    }

    @Test
    void whatRunsElsewhereHasATest() throws IOException {
        TreeSet<String> tests = new TreeSet<>();
        try (Stream<Path> all = Files.walk(Path.of("src", "test", "java"))) {
            all.forEach(file -> tests.add(file.getFileName().toString().replace(".java", "")));
        }
        assertThat(tests).containsAll(ELSEWHERE.values());
        assertThat(commands().count()).isGreaterThan(40);
    }

    @Test
    void optionsNamedOnPagesExist() {
        SortedSet<String> known = DocumentedCommands.options();
        known.addAll(OF_OTHERS);
        for (String script : List.of(".ci/run", "consumers/run", "examples/run")) {
            OPTION.matcher(DocumentedText.text(DocumentedText.ROOT.resolve(script)))
                    .results()
                    .forEach(found -> known.add(found.group()));
        }
        for (Command code : DocumentedText.inline()) {
            String text = code.words().get(0);
            if (text.startsWith("--")) {
                assertThat(OPTION.matcher(text).results().map(found -> found.group()))
                        .as(code.place() + " " + text)
                        .isSubsetOf(known);
            }
        }
    }

    static Stream<Block> outputs() {
        return DocumentedText.blocks().stream().filter(block -> block.kind().equals("console"));
    }

    /** Behind {@code $ ./moe …} stands what it prints; a line of three dots stands for lines that are left out. */
    @ParameterizedTest
    @MethodSource("outputs")
    void whatIsShownIsWhatIsPrinted(Block block) throws IOException {
        List<String> lines = block.text().lines().toList();
        assertThat(lines.get(0)).startsWith("$ ./moe ");
        List<String> documented = Arrays.asList(lines.get(0).substring(8).split(" ", -1));
        List<String> words = fixtures.withFixtures(documented);
        Outcome outcome = DocumentedCommands.run(words);
        assertThat(outcome.status()).as(outcome.err()).isZero();
        String printed = "\n" + outcome.out().replaceAll("(?m)[ \\t]+$", "") + "\n";
        for (int i = 0; i < words.size(); i++) {
            printed = printed.replace(words.get(i), documented.get(i));
        }
        String shown = String.join("\n", lines.subList(1, lines.size()));
        for (String part : shown.split("(?m)^…$", -1)) {
            if (!part.isBlank()) {
                assertThat(printed).contains("\n" + part.strip() + "\n");
            }
        }
    }

    @Test
    void whatIsWrongIsFound() {
        Command command = new Command("page:1", true, List.of(), "./moe", List.of("inspect", "PATH", "--jsn"));
        assertThatThrownBy(() -> commandsRun(command)).hasMessageContaining("--jsn");
        assertThatThrownBy(() -> fixtures.withFixtures(List.of("inspect", "ELSEWHERE")))
                .hasMessageContaining("ELSEWHERE: expected a fixture");
        Command mention = new Command("page:1", false, List.of(), "./moe", List.of("study", "nothing", "…"));
        assertThatThrownBy(() -> commandsRun(mention)).isInstanceOf(AssertionError.class);
        Command benchmark = new Command("page:1", true, List.of(), "./moe", List.of("bench", "Nothing"));
        assertThatThrownBy(() -> commandsRun(benchmark)).isInstanceOf(AssertionError.class);
        Block shown = outputs().findFirst().orElseThrow();
        Block other =
                new Block(shown.page(), shown.line(), shown.kind(), shown.text().replaceFirst("1\\.5 %", "1.6 %"));
        assertThat(other).isNotEqualTo(shown);
        assertThatThrownBy(() -> whatIsShownIsWhatIsPrinted(other)).isInstanceOf(AssertionError.class);
    }
}
