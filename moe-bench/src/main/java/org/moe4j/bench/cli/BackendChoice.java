package org.moe4j.bench.cli;

import java.util.Locale;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.reference.ReferenceBackend;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Where layers run. */
enum BackendChoice {
    ND4J {
        @Override
        Backend single() {
            return Nd4jBackend.float32();
        }

        @Override
        Backend precise() {
            return Nd4jBackend.float64();
        }
    },
    REFERENCE {
        @Override
        Backend single() {
            return ReferenceBackend.instance();
        }

        @Override
        Backend precise() {
            return ReferenceBackend.instance();
        }
    };

    /** In single precision where the backend has it. */
    abstract Backend single();

    /** In double precision. */
    abstract Backend precise();

    /** Reads the option {@code --backend}. */
    static final class Converter implements ITypeConverter<BackendChoice> {
        @Override
        public BackendChoice convert(String value) {
            return switch (value.toLowerCase(Locale.ROOT)) {
                case "nd4j" -> ND4J;
                case "reference" -> REFERENCE;
                case "vector" ->
                    throw new TypeConversionException(
                            "expected nd4j or reference, the backends of this version, but was vector");
                default -> throw new TypeConversionException("expected nd4j or reference but was " + value);
            };
        }
    }
}
