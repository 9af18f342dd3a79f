package org.moe4j.bench.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.moe4j.bench.support.Progress;
import org.moe4j.checkpoint.CheckpointRewrite;
import org.moe4j.checkpoint.MoeCheckpoint;
import org.moe4j.checkpoint.RewriteOperation;
import org.moe4j.checkpoint.RewriteReport;
import org.moe4j.checkpoint.safetensors.ElementType;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** {@code moe rewrite}: a checkpoint whose MoE layers compute the same from other numbers. */
@Command(
        name = "rewrite",
        description = {
            "Writes a checkpoint whose MoE layers compute the same from other numbers. Operations are done in the order"
                    + " given, as one change: each number is rounded once.",
            "Compares each layer on random tokens before and after it is stored, and says what storing rounded. Other"
                    + " tensors stay as they are. Refuses what is not exact, and what the config.json of the family"
                    + " cannot say."
        })
final class RewriteCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "CHECKPOINT", description = "Folder with config.json and safetensors files.")
    private Path checkpoint = Path.of("");

    @Option(
            names = "--out",
            required = true,
            paramLabel = "DIR",
            description = "Folder to be written, whole or not at all: a new one, or an empty one.")
    private Path out = Path.of("");

    @Option(names = "--json", description = "Print the same facts as one JSON object instead of a table.")
    private boolean json;

    private final List<RewriteOperation> operations = new ArrayList<>();

    @Option(
            names = "--absorb-routed-scale",
            arity = "0",
            description = "The scale of the routing weights moves into the down projections of the routed experts.")
    void absorb(boolean wanted) {
        add(wanted, new RewriteOperation.AbsorbRoutedScale());
    }

    @Option(
            names = "--to-convention",
            paramLabel = "NAME",
            converter = ConventionConverter.class,
            description = "Another merge convention: olmo, routed-unit-sum, equal-branch-mass or width-proportional.")
    void convention(@Nullable String name) {
        if (name != null) {
            operations.add(new RewriteOperation.ToConvention(name));
        }
    }

    @Option(
            names = "--dtype",
            paramLabel = "bf16|f32",
            converter = TypeConverter.class,
            description = "The type in which the tensors of MoE layers are stored; those of 8 or 4 bits are decoded.")
    void type(@Nullable ElementType type) {
        if (type != null) {
            operations.add(new RewriteOperation.StoreAs(type));
        }
    }

    @Option(names = "--collapse-shared", arity = "0", description = "One wide shared expert for several.")
    void collapse(boolean wanted) {
        add(wanted, new RewriteOperation.CollapseShared());
    }

    @Option(
            names = "--split-shared",
            paramLabel = "w1,w2,…",
            hideParamSyntax = true,
            split = ",",
            description = "Several shared experts of these widths for a wide one.")
    void split(@Nullable List<Integer> widths) {
        if (widths != null) {
            if (widths.stream().anyMatch(width -> width < 1)) {
                throw new ParameterException(
                        spec.commandLine(), "--split-shared: expected widths of at least 1 but was " + widths);
            }
            operations.add(new RewriteOperation.SplitShared(widths));
        }
    }

    private void add(boolean wanted, RewriteOperation operation) {
        if (wanted) {
            operations.add(operation);
        }
    }

    @Override
    public Integer call() throws IOException {
        RequiredPath.check(spec, "CHECKPOINT", checkpoint);
        RequiredPath.check(spec, "--out", out);
        if (operations.isEmpty()) {
            throw new ParameterException(
                    spec.commandLine(),
                    "OPERATION: expected at least one of --absorb-routed-scale, --to-convention, --dtype,"
                            + " --collapse-shared and --split-shared but was none");
        }
        PrintWriter writer = spec.commandLine().getOut();
        RewriteReport report = rewrite();
        if (json) {
            writer.println(RewriteReportText.json(report, checkpoint, out));
        } else {
            writer.print(RewriteReportText.of(report));
            writer.println("Wrote " + out);
        }
        writer.flush();
        return 0;
    }

    private RewriteReport rewrite() throws IOException {
        try (MoeCheckpoint model = MoeCheckpoint.open(checkpoint);
                Progress progress = Progress.start("rewrite", CheckpointRewrite.steps(model))) {
            return CheckpointRewrite.write(model, operations, out, progress::step);
        }
    }

    /** Reads the option {@code --dtype}. */
    static final class TypeConverter implements ITypeConverter<ElementType> {
        @Override
        public ElementType convert(String value) {
            return switch (value) {
                case "bf16" -> ElementType.BF16;
                case "f32" -> ElementType.F32;
                default -> throw new TypeConversionException("expected bf16 or f32 but was " + value);
            };
        }
    }

    /** Reads the option {@code --to-convention}. */
    static final class ConventionConverter implements ITypeConverter<String> {
        private static final List<String> NAMES =
                List.of("olmo", "routed-unit-sum", "equal-branch-mass", "width-proportional");

        @Override
        public String convert(String value) {
            if (NAMES.contains(value)) {
                return value;
            }
            throw new TypeConversionException("expected one of " + NAMES + " but was " + value);
        }
    }
}
