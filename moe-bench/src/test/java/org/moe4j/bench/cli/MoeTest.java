package org.moe4j.bench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.bench.study.mergescale.SmallResult;
import picocli.CommandLine;

final class MoeTest {
    @TempDir
    Path temporary;

    /** What a command left behind. */
    private record Outcome(int status, String out, String err) {
        List<String> errLines() {
            return err.lines().toList();
        }
    }

    private static Outcome moe(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine commandLine = Moe.commandLine();
        commandLine.setOut(new PrintWriter(out));
        commandLine.setErr(new PrintWriter(err));
        int status = Moe.execute(commandLine, arguments);
        return new Outcome(status, out.toString(), err.toString());
    }

    /** The JVM reports a file that became shorter than its mapping as an error of its own. */
    @Test
    void aFileThatIsCutShortWhileItIsReadIsOneLine() {
        StringWriter err = new StringWriter();
        CommandLine commandLine = Moe.commandLine().addSubcommand("fault", new Fault());
        commandLine.setErr(new PrintWriter(err));
        assertThat(Moe.execute(commandLine, "fault")).isEqualTo(1);
        assertThat(err.toString())
                .startsWith("moe: a mapped file: expected to stay as it is while it is read but was cut short")
                .hasLineCount(1);
    }

    @CommandLine.Command
    private static final class Fault implements Runnable {
        @Override
        public void run() {
            throw new InternalError(
                    "a fault occurred in a recent unsafe memory access operation in compiled Java code");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "study ",
                "study merge-scale ",
                "study shared-collapse ",
                "inspect ",
                "run ",
                "rewrite ",
                "routing ",
                "routing generate ",
                "bench ",
                "bench peers ",
                "bench limits ",
                "bench topk-sweep "
            })
    void everyCommandHasHelp(String command) {
        Outcome help = moe((command + "--help").split(" "));
        assertThat(help.status()).isZero();
        assertThat(help.out()).startsWith("Usage: moe " + command.strip()).contains("--debug");
        assertThat(help.err()).isEmpty();
    }

    @Test
    void versionGoesToStandardOutput() {
        Outcome version = moe("--version");
        assertThat(version.status()).isZero();
        assertThat(version.out()).startsWith("moe ");
    }

    @Test
    void wrongUsageIsOneLineAndAHint() {
        wrongUsage("moe: Missing required subcommand", "moe");
        wrongUsage("moe: Missing required subcommand", "moe study", "study");
        wrongUsage("moe: Unmatched argument", "moe", "nonsense");
        wrongUsage("moe: Unknown option: '--quik'", "moe study merge-scale", "study", "merge-scale", "--quik");
        wrongUsage("moe: Unmatched argument", "moe study merge-scale", "study", "merge-scale", "x");
    }

    @Test
    void wrongValuesSayWhatWasExpected() {
        wrongUsage(
                "moe: Invalid value for option '--backend': expected vector, nd4j or reference but was gpu",
                "moe study merge-scale",
                "study",
                "merge-scale",
                "--backend",
                "gpu");
        wrongUsage(
                "moe: Invalid value for option '--forward': expected full or surrogate but was half",
                "moe study merge-scale",
                "study",
                "merge-scale",
                "--forward",
                "half");
        wrongUsage("moe: NAME: expected a part of one of [", "moe bench", "bench", "noSuchBenchmark");
        wrongUsage("moe: NAME: expected a part of one of [", "moe bench", "bench", "");
        wrongUsage(
                "moe: --param: expected one of [preset] (parameters of RouterBenchmark) but was tokens",
                "moe bench",
                "bench",
                "RouterBenchmark",
                "--param",
                "tokens=1");
        wrongUsage(
                "moe: --param: expected values between commas but was preset=a,,b",
                "moe bench",
                "bench",
                "RouterBenchmark",
                "--param",
                "preset=a,,b");
        wrongUsage("moe: --out: expected a folder but was empty", "moe bench limits", "bench", "limits", "--out", "");
        wrongUsage(
                "moe: --backend: expected vector, vector-bf16 or nd4j but was cuda",
                "moe bench peers",
                "bench",
                "peers",
                "--backend",
                "nd4j,cuda");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--preset | nosuch | --preset: expected one of [",
                "--preset | 16,8,4 | --preset: expected D,F,E,K (four whole numbers) but was 16,8,4",
                "--preset | 16,8,4,5 | --preset: expected D, F and K of at least 1 and E of at least K but was",
                "--preset | 65536,32768,4,2 | --preset: expected matrices (F×D, E×D) of at most 2147483639 numbers but was",
                "--tokens | 8,0 | --tokens: expected numbers of 1..1048575 (a matrix has at most 2^31 - 9 elements) but was [0, 8]",
                "--tokens | 2147483647 | --tokens: expected numbers of 1..1048575 (a matrix has at most",
                "--threads | 0 | --threads: expected at least 1 but was 0"
            })
    void sizesOfPeersThatCannotBeAreWrongUsage(String option, String value, String line) {
        wrongUsage("moe: " + line, "moe bench peers", "bench", "peers", option, value);
    }

    private static void wrongUsage(String line, String command, String... arguments) {
        Outcome outcome = moe(arguments);
        assertThat(outcome.status()).isEqualTo(2);
        assertThat(outcome.out()).isEmpty();
        assertThat(outcome.errLines()).hasSize(2);
        assertThat(outcome.errLines().get(0)).startsWith(line);
        assertThat(outcome.errLines().get(1)).isEqualTo("Try '" + command + " --help'.");
    }

    @ParameterizedTest
    @ValueSource(strings = {"peers", "limits", "topk-sweep"})
    void optionsBeforeASubcommandAreNotLost(String subcommand) {
        String line = "moe: bench: expected all options behind '" + subcommand + "' but was ";
        wrongUsage(line + "one before it", "moe bench " + subcommand, "bench", "--json", subcommand);
        wrongUsage(line + "one before it", "moe bench " + subcommand, "bench", "--quick", subcommand);
        wrongUsage(line + "NAME Router before it", "moe bench " + subcommand, "bench", "Router", subcommand);
    }

    @Test
    void optionsOfABenchmarkNeedItsName() {
        String line = "moe: NAME: expected a part of a name with --quick or --param but was missing";
        wrongUsage(line, "moe bench", "bench", "--quick");
        wrongUsage(line, "moe bench", "bench", "--param", "tokens=1");
    }

    @Test
    void peersThatAreNotThereFailInOneLineThatSaysHowToGetThem() {
        Outcome peers = moe("bench", "peers");
        assertThat(peers.status()).isEqualTo(1);
        assertThat(peers.out()).isEmpty();
        assertThat(peers.errLines()).singleElement().asString().contains("MOE_PEERS=1 ./moe bench peers");
    }

    @Test
    void aFolderThatCannotBeWrittenFailsBeforeTheWork() throws IOException {
        Path file = Files.writeString(temporary.resolve("file"), "");
        Outcome outcome = moe("study", "merge-scale", "--out", file.toString());
        assertThat(outcome.status()).isEqualTo(1);
        assertThat(outcome.out()).isEmpty();
        assertThat(outcome.errLines())
                .containsExactly("moe: --out: expected a folder that can be written but was " + file + " (" + file
                        + ": not a folder)");
    }

    @Test
    void debugShowsTheStackTrace() throws IOException {
        Path file = Files.writeString(temporary.resolve("file"), "");
        Outcome outcome = moe("study", "merge-scale", "--out", file.toString(), "--debug");
        assertThat(outcome.status()).isEqualTo(1);
        assertThat(outcome.errLines().get(0)).startsWith("moe: --out: expected a folder");
        assertThat(outcome.err()).contains("java.io.IOException: ", "\tat ");
    }

    @Test
    void theDefaultFolderIsBelowTheRepositoryWhereThatIsKnown() {
        assertThat(StudyOutput.defaultFolder()).isEqualTo(Path.of("moe-bench", "target", "studies"));
        System.setProperty("moe.home", temporary.toString());
        try {
            assertThat(StudyOutput.defaultFolder()).isEqualTo(temporary.resolve("moe-bench/target/studies"));
        } finally {
            System.clearProperty("moe.home");
        }
    }

    @Test
    void benchListsNames() throws IOException {
        Outcome text = moe("bench");
        Outcome json = moe("bench", "--json");
        assertThat(text.status()).isZero();
        assertThat(json.status()).isZero();
        JsonNode names = new ObjectMapper().readTree(json.out()).get("benchmarks");
        assertThat(names.isArray()).isTrue();
        assertThat(names.size()).isEqualTo((int) text.out().lines().count());
    }

    @Test
    void jsonSaysWhatTheTableSays() {
        ObjectNode root = JsonNodeFactory.instance.objectNode();
        MergeScaleJson.put(SmallResult.published(0.001), root);
        assertThat(root.get("forward").get("hidden_size").asInt()).isEqualTo(2560);
        assertThat(root.get("backward").get("seeds").asInt()).isEqualTo(12);
        assertThat(root.get("agrees").asBoolean()).isTrue();
        assertThat(root.get("disagreement").isNull()).isTrue();
        JsonNode rows = root.get("rows");
        assertThat(rows.size()).isEqualTo(28);
        assertThat(rows.get(0).get("convention").asText()).isEqualTo("olmo");
        assertThat(rows.get(0).get("mean").asDouble()).isEqualTo(1.016 + 0.001);
        assertThat(rows.get(0).get("published").asDouble()).isEqualTo(1.016);
        assertThat(rows.get(24).get("quantity").asText()).isEqualTo("sum_p_squared");
        assertThat(rows.get(24).get("predicted").isNull()).isTrue();
        ObjectNode wrong = JsonNodeFactory.instance.objectNode();
        MergeScaleJson.put(SmallResult.published(0.005), wrong);
        assertThat(wrong.get("agrees").asBoolean()).isFalse();
        assertThat(wrong.get("disagreement").asText()).contains("expected");
    }

    /** Another meaning of @ would read the file, and take what is in it for arguments. */
    @Test
    void aPathMayBeginWithAt() throws IOException {
        Path here = Path.of("").toAbsolutePath();
        Path file = Files.writeString(temporary.resolve("config.json"), "--version");
        for (Path path : List.of(file, temporary)) {
            Outcome outcome = moe("inspect", "@" + here.relativize(path));
            assertThat(outcome.status()).isEqualTo(1);
            assertThat(outcome.errLines()).singleElement().asString().startsWith("moe: @");
        }
    }

    @Test
    void anEmptyFolderNameIsWrongUsage() {
        Outcome outcome = moe("study", "merge-scale", "--quick", "--out", "");
        assertThat(outcome.status()).isEqualTo(2);
        assertThat(outcome.errLines().get(0)).isEqualTo("moe: --out: expected a folder but was empty");
    }

    /** What could not be printed is lost, and a script has to learn of it. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void resultsThatDoNotFitAreAFailure() throws IOException {
        try (FileOutputStream full = new FileOutputStream("/dev/full");
                PrintStream out = new PrintStream(full)) {
            assertThat(Moe.checked(0, out, full.getFD())).isZero();
            out.println("results");
            assertThat(Moe.checked(0, out, full.getFD())).isEqualTo(1);
            assertThat(Moe.checked(2, out, full.getFD())).isEqualTo(2);
        }
    }
}
