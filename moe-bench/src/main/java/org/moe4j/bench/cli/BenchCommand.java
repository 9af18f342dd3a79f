package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.results.format.ResultFormatFactory;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.BenchmarkListEntry;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code moe bench}: the JMH benchmarks, by name. */
@Command(
        name = "bench",
        description = {
            "Runs the benchmarks whose name contains NAME; without NAME, lists them with their parameters.",
            "Each is measured in a JVM of its own; beside the time stands what it allocates (gc.alloc.rate.norm, bytes per call)."
        },
        subcommands = {LimitsCommand.class, PeersCommand.class, TopKSweepCommand.class})
final class BenchCommand implements Callable<Integer> {
    private static final String ROOM = "org.moe4j.bench.";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(arity = "0..1", paramLabel = "NAME", description = "Part of a name, as RouterBenchmark or MoeLayer.")
    private @Nullable String name;

    @Option(names = "--json", description = "Print the results (or the names) as one JSON object.")
    private boolean json;

    @Option(
            names = "--quick",
            description = "One JVM, two seconds to warm up and three to measure: to try a benchmark, not to quote it.")
    private boolean quick;

    @Option(
            names = "--param",
            paramLabel = "NAME=VALUE[,VALUE…]",
            description = "Only these values of a parameter, as --param tokens=1,8 (may be repeated).")
    private Map<String, String> values = new LinkedHashMap<>();

    @Override
    public Integer call() throws IOException, RunnerException {
        String wanted = name;
        if (wanted == null) {
            if (quick || !values.isEmpty()) {
                throw new ParameterException(
                        spec.commandLine(), "NAME: expected a part of a name with --quick or --param but was missing");
            }
            list();
            return 0;
        }
        List<String> known = known();
        if (wanted.isBlank() || known.stream().noneMatch(benchmark -> contains(benchmark, wanted))) {
            throw new ParameterException(
                    spec.commandLine(),
                    "NAME: expected a part of one of " + known + " but was " + (wanted.isBlank() ? "blank" : wanted));
        }
        requireParameters(wanted);
        Collection<RunResult> results = new Runner(
                        options(wanted), OutputFormatFactory.createFormatInstance(System.err, VerboseMode.NORMAL))
                .run();
        print(results);
        return 0;
    }

    /** A subcommand does not see what stands before it. */
    void requireNothingBefore(CommandSpec subcommand) {
        if (name != null || json || quick || !values.isEmpty()) {
            throw new ParameterException(
                    subcommand.commandLine(),
                    "bench: expected all options behind '" + subcommand.name() + "' but was "
                            + (name != null ? "NAME " + name : "one") + " before it");
        }
    }

    private Options options(String wanted) {
        ChainedOptionsBuilder builder = new OptionsBuilder()
                .include("(?i)^" + Pattern.quote(ROOM) + ".*" + Pattern.quote(wanted) + ".*")
                .addProfiler(GCProfiler.class)
                .shouldFailOnError(true);
        values.forEach((parameter, list) -> builder.param(parameter, list.split(",")));
        if (quick) {
            TimeValue second = TimeValue.seconds(1);
            builder.forks(1)
                    .warmupIterations(2)
                    .warmupTime(second)
                    .measurementIterations(3)
                    .measurementTime(second);
        }
        return builder.build();
    }

    /** JMH passes over a parameter that no benchmark has. */
    private void requireParameters(String wanted) {
        SortedSet<String> parameters = new TreeSet<>();
        entries().stream()
                .filter(entry -> contains(name(entry), wanted))
                .forEach(entry -> parameters.addAll(parameters(entry).keySet()));
        for (Map.Entry<String, String> value : values.entrySet()) {
            if (!parameters.contains(value.getKey())) {
                throw new ParameterException(
                        spec.commandLine(),
                        "--param: expected one of " + parameters + " (parameters of " + wanted + ") but was "
                                + value.getKey());
            }
            if (Arrays.stream(value.getValue().split(",", -1)).anyMatch(String::isBlank)) {
                throw new ParameterException(
                        spec.commandLine(),
                        "--param: expected values between commas but was " + value.getKey() + "=" + value.getValue());
            }
        }
    }

    private static boolean contains(String benchmark, String part) {
        return benchmark.toLowerCase(Locale.ROOT).contains(part.toLowerCase(Locale.ROOT));
    }

    private static Collection<BenchmarkListEntry> entries() {
        if (BenchCommand.class.getResource(BenchmarkList.BENCHMARK_LIST) == null) {
            return List.of(); // no benchmark was compiled
        }
        return BenchmarkList.defaultList()
                .getAll(OutputFormatFactory.createFormatInstance(System.err, VerboseMode.SILENT), List.of());
    }

    /** Without the common package. */
    private static String name(BenchmarkListEntry entry) {
        String benchmark = entry.getUsername();
        return benchmark.startsWith(ROOM) ? benchmark.substring(ROOM.length()) : benchmark;
    }

    private static List<String> known() {
        return entries().stream().map(BenchCommand::name).sorted().toList();
    }

    /** Its parameters with the values that they have unless told otherwise. */
    private static SortedMap<String, List<String>> parameters(BenchmarkListEntry entry) {
        SortedMap<String, List<String>> parameters = new TreeMap<>();
        if (entry.getParams().hasValue()) {
            entry.getParams().get().forEach((parameter, defaults) -> parameters.put(parameter, List.of(defaults)));
        }
        return parameters;
    }

    private void list() throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        List<BenchmarkListEntry> sorted = entries().stream()
                .sorted(Comparator.comparing(BenchCommand::name))
                .toList();
        if (json) {
            ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
            ObjectNode root = mapper.createObjectNode();
            sorted.forEach(entry -> root.withArray("benchmarks").add(name(entry)));
            out.println(mapper.writeValueAsString(root));
        } else {
            sorted.forEach(entry -> out.println(name(entry) + words(parameters(entry))));
        }
        out.flush();
    }

    private static String words(SortedMap<String, List<String>> parameters) {
        StringBuilder words = new StringBuilder();
        parameters.forEach((parameter, defaults) ->
                words.append("  ").append(parameter).append('=').append(String.join(",", defaults)));
        return words.toString();
    }

    private void print(Collection<RunResult> results) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (PrintStream stream = new PrintStream(bytes, false, StandardCharsets.UTF_8)) {
            ResultFormatFactory.getInstance(json ? ResultFormatType.JSON : ResultFormatType.TEXT, stream)
                    .writeOut(results);
        }
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
            ObjectNode root = mapper.createObjectNode();
            root.set("results", mapper.readTree(bytes.toByteArray()));
            out.println(mapper.writeValueAsString(root));
        } else {
            out.print(bytes.toString(StandardCharsets.UTF_8));
        }
        out.flush();
    }
}
