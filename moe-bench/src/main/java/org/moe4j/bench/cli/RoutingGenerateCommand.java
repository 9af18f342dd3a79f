package org.moe4j.bench.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.moe4j.bench.routing.SyntheticTraces;
import org.moe4j.bench.support.OutputFile;
import org.moe4j.bench.support.Progress;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.router.analysis.synthetic.ExpertPopularity;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** {@code moe routing generate}: traces that no model made. */
@Command(
        name = "generate",
        description = {
            "Writes a synthetic trace: tokens whose experts are drawn so that the expected load has a given coefficient of variation,"
                    + " and, for several kinds of text, a given distance. It says nothing of a model; its metadata say"
                    + " moe4j.synthetic.",
            "With --domains N there are N files, NAME-1.safetensors to NAME-N.safetensors for --out NAME.safetensors. The same seed"
                    + " gives the same files."
        })
final class RoutingGenerateCommand implements Callable<Integer> {
    private static final int MOST_LAYERS = 1 << 12;

    /** So that no product of sizes overflows. */
    private static final long MOST_TOKENS = 1L << 32;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--out",
            required = true,
            paramLabel = "FILE",
            description = "Safetensors file; an old one is replaced.")
    private Path out = Path.of("");

    @Option(
            names = "--tokens",
            paramLabel = "T",
            defaultValue = "4096",
            description = "Tokens of a file (default: ${DEFAULT-VALUE}).")
    private long tokens = 1;

    @Option(
            names = "--layers",
            paramLabel = "L",
            defaultValue = "16",
            description = "Layers (default: ${DEFAULT-VALUE}).")
    private int layers = 1;

    @Option(
            names = "--experts",
            paramLabel = "E",
            defaultValue = "64",
            description = "Experts of a layer (default: ${DEFAULT-VALUE}).")
    private int experts = 1;

    @Option(
            names = "--top-k",
            paramLabel = "K",
            defaultValue = "8",
            description = "Experts of a token (default: ${DEFAULT-VALUE}).")
    private int topK = 1;

    @Option(
            names = "--variation",
            paramLabel = "CV",
            defaultValue = "0.9",
            description = "Standard deviation of the experts' expected loads over their mean, 0 to sqrt(E/K - 1)"
                    + " (default: ${DEFAULT-VALUE}).")
    private double variation;

    @Option(
            names = "--domains",
            paramLabel = "N",
            defaultValue = "1",
            description = "Kinds of text, one file each (default: ${DEFAULT-VALUE}).")
    private int domains = 1;

    @Option(
            names = "--distance",
            paramLabel = "TV",
            description = "With --domains: total variation between two kinds, the mean over the pairs (default: 0.5).")
    private @Nullable Double distance;

    @Option(
            names = "--dtype",
            paramLabel = "u8|i8|i16|i32|i64",
            converter = TypeConverter.class,
            description = "Type of the indices (default: the shortest that holds them).")
    private @Nullable ElementType type;

    @Option(
            names = "--seed",
            paramLabel = "S",
            defaultValue = "1",
            description = "Of all draws (default: ${DEFAULT-VALUE}).")
    private long seed = 1;

    @Override
    public Integer call() throws IOException {
        RequiredPath.check(spec, "--out", out);
        requireUsage();
        SyntheticTraces traces = new SyntheticTraces(tokens, layers, kinds(), seed, Optional.ofNullable(type));
        List<Path> files = traces.files(out);
        for (Path file : files) {
            OutputFile.requireWritable("--out", file);
        }
        try (Progress progress = Progress.start("generate", traces.steps())) {
            traces.write(files, progress::step);
        }
        PrintWriter writer = spec.commandLine().getOut();
        files.forEach(file -> writer.println("Wrote " + file));
        writer.flush();
        return 0;
    }

    private void requireUsage() {
        requireAtLeast("--tokens", tokens, 1);
        requireAtLeast("--layers", layers, 1);
        requireAtLeast("--domains", domains, 1);
        if (tokens > MOST_TOKENS) {
            throw wrong("--tokens: expected at most " + MOST_TOKENS + " but was " + tokens);
        }
        if (layers > MOST_LAYERS) {
            throw wrong("--layers: expected at most " + MOST_LAYERS + " but was " + layers);
        }
        if (domains == 1 && distance != null) {
            throw wrong("--distance: expected --domains of at least 2 beside it but was alone");
        }
        if (type != null && experts > held(type)) {
            throw wrong("--dtype: expected a type that holds " + experts + " experts but was " + word(type));
        }
    }

    /** How many experts a type has numbers for. */
    private static int held(ElementType type) {
        return switch (type) {
            case U8 -> 1 << Byte.SIZE;
            case I8 -> 1 << (Byte.SIZE - 1);
            case I16 -> 1 << (Short.SIZE - 1);
            default -> Integer.MAX_VALUE;
        };
    }

    private void requireAtLeast(String option, long value, long least) {
        if (value < least) {
            throw wrong(option + ": expected at least " + least + " but was " + value);
        }
    }

    private List<ExpertPopularity> kinds() {
        try {
            return domains == 1
                    ? List.of(ExpertPopularity.ofVariation(experts, topK, variation))
                    : ExpertPopularity.ofDistance(experts, topK, variation, distance == null ? 0.5 : distance, domains);
        } catch (IllegalArgumentException e) {
            String message = String.valueOf(e.getMessage())
                    .replaceFirst("^topK:", "top-k:")
                    .replaceFirst("^kinds:", "domains:");
            throw wrong("--" + message);
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private static String word(ElementType type) {
        return type.name().toLowerCase(Locale.ROOT);
    }

    /** Reads the option {@code --dtype}. */
    static final class TypeConverter implements ITypeConverter<ElementType> {
        private static final List<ElementType> KNOWN =
                List.of(ElementType.U8, ElementType.I8, ElementType.I16, ElementType.I32, ElementType.I64);

        @Override
        public ElementType convert(String value) {
            return KNOWN.stream()
                    .filter(type -> word(type).equals(value))
                    .findFirst()
                    .orElseThrow(() -> new TypeConversionException("expected one of "
                            + KNOWN.stream().map(RoutingGenerateCommand::word).toList() + " but was " + value));
        }
    }
}
