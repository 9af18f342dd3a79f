package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.results.format.ResultFormatFactory;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.BenchmarkList;
import org.openjdk.jmh.runner.BenchmarkListEntry;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.format.OutputFormatFactory;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.VerboseMode;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code moe bench}: the JMH benchmarks, by name. */
@Command(name = "bench", description = "Runs the benchmarks whose name contains NAME; without NAME, lists them.")
final class BenchCommand implements Callable<Integer> {
    private static final String ROOM = "org.moe4j.bench.";

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(arity = "0..1", paramLabel = "NAME", description = "Part of a name, as RouterBenchmark or MoeLayer.")
    private @Nullable String name;

    @Option(names = "--json", description = "Print the results (or the names) as one JSON object.")
    private boolean json;

    @Override
    public Integer call() throws IOException, RunnerException {
        List<String> known = known();
        String wanted = name;
        if (wanted == null) {
            list(known);
            return 0;
        }
        if (known.stream().noneMatch(benchmark -> contains(benchmark, wanted))) {
            throw new ParameterException(
                    spec.commandLine(), "NAME: expected a part of one of " + known + " but was " + wanted);
        }
        Collection<RunResult> results = new Runner(
                        new OptionsBuilder()
                                .include("(?i)^" + Pattern.quote(ROOM) + ".*" + Pattern.quote(wanted) + ".*")
                                .shouldFailOnError(true)
                                .build(),
                        OutputFormatFactory.createFormatInstance(System.err, VerboseMode.NORMAL))
                .run();
        print(results);
        return 0;
    }

    private static boolean contains(String benchmark, String part) {
        return benchmark.toLowerCase(Locale.ROOT).contains(part.toLowerCase(Locale.ROOT));
    }

    /** Names without the common package. */
    private static List<String> known() {
        if (BenchCommand.class.getResource(BenchmarkList.BENCHMARK_LIST) == null) {
            return List.of(); // no benchmark was compiled
        }
        return BenchmarkList.defaultList()
                .getAll(OutputFormatFactory.createFormatInstance(System.err, VerboseMode.SILENT), List.of())
                .stream()
                .map(BenchmarkListEntry::getUsername)
                .map(benchmark -> benchmark.startsWith(ROOM) ? benchmark.substring(ROOM.length()) : benchmark)
                .sorted()
                .toList();
    }

    private void list(List<String> known) throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
            ObjectNode root = mapper.createObjectNode();
            known.forEach(root.putArray("benchmarks")::add);
            out.println(mapper.writeValueAsString(root));
        } else {
            known.forEach(out::println);
        }
        out.flush();
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
