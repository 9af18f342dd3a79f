package org.moe4j.bench.cli;

import java.util.Locale;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Backends.Precision;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Where layers run. */
enum BackendChoice {
    VECTOR,
    ND4J,
    REFERENCE;

    private String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** In single precision where the backend has it. */
    Backend single() {
        return Backends.named(word(), Precision.FLOAT32);
    }

    /** In double precision. */
    Backend precise() {
        return Backends.named(word(), Precision.FLOAT64);
    }

    /** Reads the option {@code --backend}. */
    static final class Converter implements ITypeConverter<BackendChoice> {
        @Override
        public BackendChoice convert(String value) {
            return switch (value.toLowerCase(Locale.ROOT)) {
                case "vector" -> VECTOR;
                case "nd4j" -> ND4J;
                case "reference" -> REFERENCE;
                default -> throw new TypeConversionException("expected vector, nd4j or reference but was " + value);
            };
        }
    }
}
