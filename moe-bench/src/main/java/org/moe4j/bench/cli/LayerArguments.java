package org.moe4j.bench.cli;

import java.nio.file.Path;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.core.backend.Backend;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.TypeConversionException;

/** Which layer of which checkpoint runs on which activations, where, and in which precision. */
final class LayerArguments {
    @Parameters(paramLabel = "CHECKPOINT", description = "Folder with config.json and safetensors files.")
    private Path checkpoint = Path.of("");

    @Option(names = "--layer", required = true, paramLabel = "N", description = "Index of an MoE layer, from 0.")
    private int layer;

    @Option(
            names = "--input",
            required = true,
            paramLabel = "FILE",
            description = "Safetensors file with hidden_states.")
    private Path input = Path.of("");

    @Option(
            names = "--backend",
            paramLabel = "vector|nd4j|reference",
            converter = BackendChoice.Converter.class,
            defaultValue = "nd4j",
            description = "Where the layer runs (default: ${DEFAULT-VALUE}).")
    private BackendChoice backend = BackendChoice.ND4J;

    @Option(
            names = "--dtype",
            paramLabel = "float32|float64",
            converter = TypeConverter.class,
            defaultValue = "float32",
            description =
                    "In which precision it runs, and of which type results in files are (default: ${DEFAULT-VALUE}).")
    private ElementType type = ElementType.F32;

    @Option(
            names = "--residual",
            description =
                    "The block around the layer: hidden_states + MoE(RMSNorm(hidden_states)), or as the family has it.")
    private boolean residual;

    void check(CommandSpec spec) {
        RequiredPath.check(spec, "CHECKPOINT", checkpoint);
        RequiredPath.check(spec, "--input", input);
    }

    Path checkpoint() {
        return checkpoint;
    }

    int layer() {
        return layer;
    }

    Path input() {
        return input;
    }

    Backend backend() {
        return type == ElementType.F32 ? backend.single() : backend.precise();
    }

    ElementType type() {
        return type;
    }

    boolean residual() {
        return residual;
    }

    /** Reads the option {@code --dtype}. */
    static final class TypeConverter implements ITypeConverter<ElementType> {
        @Override
        public ElementType convert(String value) {
            return switch (value) {
                case "float32" -> ElementType.F32;
                case "float64" -> ElementType.F64;
                default -> throw new TypeConversionException("expected float32 or float64 but was " + value);
            };
        }
    }
}
