package org.moe4j.core.vector;

import java.util.Optional;
import java.util.OptionalInt;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Backends.Precision;

/** Offers {@link VectorBackend} by the name {@code vector}, as the fastest. */
public final class VectorProvider implements Backends.Provider {
    /** For {@link java.util.ServiceLoader}. */
    public VectorProvider() {}

    @Override
    public String name() {
        return "vector";
    }

    @Override
    public OptionalInt rank() {
        return OptionalInt.of(10);
    }

    @Override
    public Optional<String> obstacle() {
        return VectorBackend.obstacle();
    }

    @Override
    public Optional<String> details() {
        return Optional.of(Vectors.details());
    }

    @Override
    public Backend create(Precision precision) {
        return precision == Precision.FLOAT32 ? VectorBackend.float32() : VectorBackend.float64();
    }
}
