package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.moe4j.bench.routing.Passage;
import org.moe4j.bench.routing.Report;
import org.moe4j.bench.routing.RoutingRun;
import org.moe4j.bench.routing.RoutingSettings;
import org.moe4j.bench.support.OutputFolder;
import org.moe4j.bench.support.Progress;
import org.moe4j.checkpoint.trace.TraceFile;
import org.moe4j.router.RouterConfig;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code moe routing}: what a router did to the tokens of traces. */
@Command(
        name = "routing",
        description = {
            "Says of routing traces how even the load is, how many experts a batch needs, over how many devices a token is spread, how"
                    + " differently passages are routed, what losses say of it, and what a cache of experts would have held.",
            "Reads safetensors with topk_index.LAYER [T, K] or router_logits.LAYER [T, E], or both, and NumPy arrays of either; each"
                    + " file is one passage.",
            "With --out it writes routing.html, one page with tables and pictures that needs no other file, routing-TABLE.csv with all"
                    + " digits, and routing-PICTURE.svg and .png."
        },
        subcommands = RoutingGenerateCommand.class)
final class RoutingCommand implements Callable<Integer> {
    private static final List<Integer> DEVICES = List.of(2, 4, 8, 16);

    /** As many as a trace may have experts. */
    private static final int MOST_DEVICES = 1 << 16;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "FILE", arity = "0..*", description = "Traces; tokens of the same layers of one model.")
    private List<Path> files = new ArrayList<>();

    @Mixin
    private TraceInput input = new TraceInput();

    @Option(
            names = "--devices",
            paramLabel = "N",
            split = ",",
            description =
                    "Numbers of devices that the experts are dealt out to (default: 2,4,8,16, as far as there are experts).")
    private List<Integer> devices = new ArrayList<>();

    @Option(
            names = "--cache",
            paramLabel = "N",
            split = ",",
            description = "Simulate caches with room for so many experts of each layer (default: none).")
    private List<Integer> caches = new ArrayList<>();

    @Option(
            names = "--balance-coefficient",
            paramLabel = "C",
            defaultValue = "1",
            description = "Of the balance losses' contributions (default: ${DEFAULT-VALUE}).")
    private double balance = 1;

    @Option(
            names = "--z-coefficient",
            paramLabel = "C",
            defaultValue = "1",
            description = "Of the z-loss's contribution (default: ${DEFAULT-VALUE}).")
    private double zLoss = 1;

    @Option(
            names = "--token",
            paramLabel = "N",
            description = "Follow the token with this number, from 0, through all layers.")
    private @Nullable Long token;

    @Option(names = "--layer", paramLabel = "L", description = "With --token: each of its experts in this layer.")
    private @Nullable String layer;

    @Option(names = "--out", paramLabel = "DIR", description = "Folder for the files (default: none are written).")
    private @Nullable Path out;

    @Option(names = "--json", description = "Print the same facts as one JSON object instead of tables.")
    private boolean json;

    @Override
    public Integer call() throws IOException {
        requireUsage();
        Optional<RouterConfig> preset = input.rule(spec);
        Optional<RouterConfig> rule = preset.filter(config -> !config.selectionBias());
        Optional<RouterConfig> scores =
                preset.filter(RouterConfig::selectionBias).map(config -> config.withSelectionBias(false));
        List<Passage> passages = Passage.of(input.open(spec, files, rule));
        scores.ifPresent(config -> input.requireRecorded(spec, passages, config));
        RoutingSettings settings = settings(passages, rule, scores);
        Optional<OutputFolder> folder = out == null ? Optional.empty() : Optional.of(OutputFolder.open(out));
        Report report = run(passages, settings);
        List<Path> written = folder.isPresent() ? report.write(folder.get()) : List.of();
        print(report, written);
        return 0;
    }

    private static Report run(List<Passage> passages, RoutingSettings settings) {
        try (Progress progress = Progress.start("routing", RoutingRun.steps(passages))) {
            return RoutingRun.run(passages, settings, progress::step);
        }
    }

    private void requireUsage() {
        if (files.isEmpty()) {
            throw wrong("Missing required parameter: 'FILE'");
        }
        files.forEach(file -> RequiredPath.check(spec, "FILE", file));
        if (out != null) {
            RequiredPath.check(spec, "--out", out);
        }
        input.requireMasks(spec, files.size());
        requirePositive("--devices", devices);
        for (int count : devices) {
            if (count > MOST_DEVICES) {
                throw wrong("--devices: expected numbers of at most " + MOST_DEVICES + " but was " + devices);
            }
        }
        requirePositive("--cache", caches);
        requireCoefficient("--balance-coefficient", balance);
        requireCoefficient("--z-coefficient", zLoss);
        if (layer != null && token == null) {
            throw wrong("--layer: expected --token beside it but was alone");
        }
    }

    private void requirePositive(String option, List<Integer> numbers) {
        for (int number : numbers) {
            if (number < 1) {
                throw wrong(option + ": expected numbers of at least 1 but was " + numbers);
            }
        }
    }

    private void requireCoefficient(String option, double value) {
        if (!(value >= 0 && value < Double.POSITIVE_INFINITY)) {
            throw wrong(option + ": expected a number of at least 0 but was " + value);
        }
    }

    private RoutingSettings settings(
            List<Passage> passages, Optional<RouterConfig> rule, Optional<RouterConfig> scores) {
        TraceFile first = passages.get(0).trace();
        for (Passage passage : passages) {
            long tokens = passage.trace().tokens();
            if (token != null && !(token >= 0 && token < tokens)) {
                throw wrong("--token: expected "
                        + (tokens == 0 ? "nothing (no tokens in " : "0.." + (tokens - 1) + " (tokens of ")
                        + passage.trace().path() + ") but was " + token);
            }
        }
        if (layer != null && !first.layers().contains(layer)) {
            throw wrong("--layer: expected one of " + first.layers() + " but was " + layer);
        }
        List<Integer> dealt = devices.isEmpty()
                ? DEVICES.stream().filter(count -> count <= first.experts()).toList()
                : devices;
        return new RoutingSettings(
                dealt,
                caches,
                balance,
                zLoss,
                rule,
                scores,
                token == null ? OptionalLong.empty() : OptionalLong.of(token),
                Optional.ofNullable(layer));
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private void print(Report report, List<Path> written) throws IOException {
        PrintWriter writer = spec.commandLine().getOut();
        if (json) {
            ObjectNode root = report.json();
            ArrayNode names = root.putArray("files");
            written.forEach(file -> names.add(file.toString()));
            writer.println(new ObjectMapper()
                    .enable(SerializationFeature.INDENT_OUTPUT)
                    .writeValueAsString(root));
        } else {
            writer.print(report.text());
            written.forEach(file -> writer.println("Wrote " + file));
        }
        writer.flush();
    }
}
