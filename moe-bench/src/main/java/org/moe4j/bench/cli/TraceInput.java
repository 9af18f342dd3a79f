package org.moe4j.bench.cli;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.moe4j.bench.routing.Passage;
import org.moe4j.checkpoint.trace.TraceFile;
import org.moe4j.checkpoint.trace.TraceOptions;
import org.moe4j.core.preset.Preset;
import org.moe4j.router.RouterConfig;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** What files of traces do not say themselves. */
final class TraceInput {
    /** What the library calls the options. */
    private static final Map<String, String> OPTIONS =
            Map.of("topK", "--top-k", "experts", "--experts", "config", "--preset");

    @Option(
            names = "--top-k",
            paramLabel = "K",
            description = "Experts of a token, for files of logits alone: the K largest after softmax.")
    private @Nullable Integer topK;

    @Option(
            names = "--experts",
            paramLabel = "E",
            description = "Number of experts, for files of indices that do not say it in moe4j.experts.")
    private @Nullable Integer experts;

    @Option(
            names = "--mask",
            paramLabel = "FILE",
            description =
                    "A mask [T] of the tokens that count (1) and those that do not (0), as padding; once for each FILE, in"
                            + " their order.")
    private List<Path> masks = new ArrayList<>();

    @Option(
            names = "--preset",
            paramLabel = "NAME",
            description = {
                "Route logits as this model does, also where indices were recorded beside them.",
                "A model with a selection bias, which traces do not hold, needs the recorded indices; losses read its scores."
            })
    private @Nullable String preset;

    void requireMasks(CommandSpec spec, int files) {
        masks.forEach(mask -> RequiredPath.check(spec, "--mask", mask));
        if (!masks.isEmpty() && masks.size() != files) {
            throw new ParameterException(
                    spec.commandLine(), "--mask: expected one for each FILE (" + files + ") but was " + masks.size());
        }
        requireAtLeastOne(spec, "--top-k", topK);
        requireAtLeastOne(spec, "--experts", experts);
    }

    private static void requireAtLeastOne(CommandSpec spec, String option, @Nullable Integer value) {
        if (value != null && value < 1) {
            throw new ParameterException(spec.commandLine(), option + ": expected at least 1 but was " + value);
        }
    }

    /** The rule of the preset that was named. */
    Optional<RouterConfig> rule(CommandSpec spec) {
        if (preset == null) {
            return Optional.empty();
        }
        try {
            return Optional.of(RouterConfig.from(Preset.named(preset)));
        } catch (NoSuchElementException e) {
            throw new ParameterException(spec.commandLine(), "--" + e.getMessage(), e);
        }
    }

    /** Nobody but the router knows what a selection bias chose. */
    void requireRecorded(CommandSpec spec, List<Passage> passages, RouterConfig config) {
        for (Passage passage : passages) {
            TraceFile trace = passage.trace();
            for (String layer : trace.layers()) {
                if (trace.recorded(layer).isEmpty() || trace.logits(layer).isEmpty()) {
                    throw new ParameterException(
                            spec.commandLine(),
                            "--preset: expected indices and logits (" + preset + " has a selection bias) but layer "
                                    + layer
                                    + " of " + trace.path() + " has "
                                    + (trace.logits(layer).isEmpty() ? "indices" : "logits")
                                    + " alone");
                }
            }
            if (trace.experts() != config.experts() || trace.topK() != config.topK()) {
                throw new ParameterException(
                        spec.commandLine(),
                        "--preset: expected top " + config.topK() + " of " + config.experts() + " experts, as " + preset
                                + ", but was top " + trace.topK() + " of " + trace.experts() + " in " + trace.path());
            }
        }
    }

    /** Opens the files; what they do not say and nobody said, or what is said and does not fit, is wrong usage. */
    List<TraceFile> open(CommandSpec spec, List<Path> files, Optional<RouterConfig> rule) throws IOException {
        List<TraceFile> traces = new ArrayList<>();
        for (int i = 0; i < files.size(); i++) {
            try {
                traces.add(TraceFile.open(files.get(i), options(rule, i)));
            } catch (IllegalArgumentException e) {
                throw new ParameterException(spec.commandLine(), asOption(String.valueOf(e.getMessage())), e);
            }
        }
        return traces;
    }

    private static String asOption(String message) {
        return OPTIONS.entrySet().stream()
                .filter(option -> message.startsWith(option.getKey() + ":"))
                .map(option ->
                        option.getValue() + message.substring(option.getKey().length()))
                .findFirst()
                .orElse(message);
    }

    private TraceOptions options(Optional<RouterConfig> rule, int file) {
        return new TraceOptions(
                optional(topK),
                optional(experts),
                masks.isEmpty() ? Optional.empty() : Optional.of(masks.get(file)),
                rule);
    }

    private static OptionalInt optional(@Nullable Integer value) {
        return value == null ? OptionalInt.empty() : OptionalInt.of(value);
    }
}
