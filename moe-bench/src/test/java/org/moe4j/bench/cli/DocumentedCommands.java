package org.moe4j.bench.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import org.moe4j.checkpoint.trace.TraceWriter;
import org.moe4j.router.analysis.RoutingSource;
import org.moe4j.router.analysis.synthetic.ExpertPopularity;
import org.moe4j.router.analysis.synthetic.SyntheticRouting;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/** The {@code moe} command as pages show it: its own parser, and fixtures in the place of the words that stand for a reader's files. */
public final class DocumentedCommands {
    private static final Path RESOURCES = Path.of("..", "moe-checkpoint", "src", "test", "resources");

    /** What stands for something, or is too large or not there, behind an option; by subcommand and option. */
    private static final Map<String, String> VALUES = Map.ofEntries(
            Map.entry("run --layer", "1"),
            Map.entry("explain --layer", "1"),
            Map.entry("explain --without 5,17", "5,7"),
            Map.entry("explain --keep 12", "5"),
            Map.entry("explain --top-k 1,16", "1,8"),
            Map.entry("routing generate --tokens 10000000", "1000"),
            Map.entry("inspect --tokens LIST", "1,8"),
            Map.entry("inspect --bandwidth GB/s", "20"),
            Map.entry("inspect --peak GFLOP/s", "100"));

    private final Path temporary;
    private int folders;

    /**
     * Fixtures.
     *
     * @param temporary folder for what commands read and write
     */
    public DocumentedCommands(Path temporary) {
        this.temporary = temporary;
    }

    /** What a command left behind. */
    public record Outcome(int status, String out, String err) {}

    /** The subcommands that words begin with, and no options. */
    public static String subcommand(List<String> words) {
        CommandLine at = Moe.commandLine();
        List<String> path = new ArrayList<>();
        for (String word : words) {
            CommandLine next = at.getSubcommands().get(word);
            if (next == null) {
                break;
            }
            path.add(word);
            at = next;
        }
        return String.join(" ", path);
    }

    /** All options of all subcommands. */
    public static SortedSet<String> options() {
        TreeSet<String> options = new TreeSet<>();
        List<CommandSpec> waiting = new ArrayList<>(List.of(Moe.commandLine().getCommandSpec()));
        while (!waiting.isEmpty()) {
            CommandSpec spec = waiting.remove(0);
            spec.options().forEach(option -> options.addAll(List.of(option.names())));
            spec.subcommands().values().forEach(each -> waiting.add(each.getCommandSpec()));
        }
        return options;
    }

    /** Parses words as the command does, or throws what it would say. */
    public static void parse(List<String> words) {
        Moe.commandLine().parseArgs(words.toArray(String[]::new));
    }

    /** Runs the command in this JVM. */
    public static Outcome run(List<String> words) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        CommandLine commandLine = Moe.commandLine();
        commandLine.setOut(new PrintWriter(out));
        commandLine.setErr(new PrintWriter(err));
        int status = Moe.execute(commandLine, words.toArray(String[]::new));
        return new Outcome(status, out.toString(), err.toString());
    }

    /** The words with fixtures for what stands for a reader's files, sizes and numbers. */
    public List<String> withFixtures(List<String> documented) throws IOException {
        String subcommand = subcommand(documented);
        List<String> words = new ArrayList<>();
        String option = "";
        for (String each : documented) {
            String word = each.replaceAll("[\\[\\]]", "");
            String value =
                    VALUES.getOrDefault(subcommand + " " + option + " " + word, VALUES.get(subcommand + " " + option));
            words.add(value != null ? value : fixture(subcommand, option, word));
            option = word.startsWith("--") ? word : "";
        }
        for (String word : words) {
            if (word.contains("…") || word.matches("[A-Z]{3,}")) {
                throw new IllegalArgumentException(word + ": expected a fixture in DocumentedCommands but found none");
            }
        }
        return words;
    }

    private String fixture(String subcommand, String option, String word) throws IOException {
        if (option.equals("--out") && !word.endsWith(".safetensors") && !word.equals("FILE")) {
            return temporary.resolve("out-" + folders++).toString();
        }
        return switch (word) {
            case "OPERATION…" -> "--absorb-routed-scale";
            case "CHECKPOINT", "DIR" -> checkpoint(subcommand.equals("rewrite") ? "deepseek-v3" : "olmoe");
            case "PATH" -> checkpoint("mixtral");
            case "OLMoE-1B-7B-0924/config.json" ->
                RESOURCES.resolve("released/olmoe-1b-7b.json").toString();
            case "FILE" -> temporary.resolve("file.safetensors").toString();
            case "FILE…" -> trace("prose.safetensors");
            default -> word.endsWith(".safetensors") ? file(option, word) : word;
        };
    }

    private static String checkpoint(String name) {
        return RESOURCES.resolve("fixtures").resolve(name).toString();
    }

    private String file(String option, String name) throws IOException {
        return switch (option) {
            case "--input" ->
                RESOURCES.resolve("fixtures/olmoe/expected.safetensors").toString();
            case "" -> trace(name);
            default -> temporary.resolve(name).toString();
        };
    }

    /** A trace of that name: what an earlier command has written, or a drawn one. */
    private String trace(String name) throws IOException {
        Path file = temporary.resolve(name);
        if (!Files.exists(file)) {
            Map<String, RoutingSource> layers = new LinkedHashMap<>();
            for (int layer = 0; layer < 2; layer++) {
                ExpertPopularity popularity =
                        ExpertPopularity.ofVariation(16, 8, 0.5).shuffled(name.hashCode() + layer);
                layers.put("" + layer, SyntheticRouting.of(popularity, 60, layer));
            }
            TraceWriter.write(file, layers, Map.of());
        }
        return file.toString();
    }
}
