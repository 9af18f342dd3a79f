package org.moe4j.core.nd4j;

import java.util.Optional;
import java.util.OptionalInt;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Backends.Precision;

/** Offers {@link Nd4jBackend} by the name {@code nd4j}, as the next best. */
public final class Nd4jProvider implements Backends.Provider {
    /** For {@link java.util.ServiceLoader}. */
    public Nd4jProvider() {}

    @Override
    public String name() {
        return "nd4j";
    }

    @Override
    public OptionalInt rank() {
        return OptionalInt.of(20);
    }

    @Override
    public Optional<String> obstacle() {
        try {
            Nd4jBackend.float32();
            return Optional.empty();
        } catch (IllegalStateException | LinkageError missing) {
            return Optional.of(String.valueOf(missing.getMessage()));
        }
    }

    @Override
    public Optional<String> details() {
        return Optional.of(Nd4jBackend.details());
    }

    @Override
    public Backend create(Precision precision) {
        return precision == Precision.FLOAT32 ? Nd4jBackend.float32() : Nd4jBackend.float64();
    }
}
