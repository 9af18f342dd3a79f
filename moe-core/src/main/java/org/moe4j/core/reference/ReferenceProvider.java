package org.moe4j.core.reference;

import java.util.Optional;
import java.util.OptionalInt;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Backends.Precision;

/** Offers {@link ReferenceBackend} by the name {@code reference}. */
public final class ReferenceProvider implements Backends.Provider {
    /** For {@link java.util.ServiceLoader}. */
    public ReferenceProvider() {}

    @Override
    public String name() {
        return "reference";
    }

    @Override
    public OptionalInt rank() {
        return OptionalInt.empty();
    }

    @Override
    public Optional<String> obstacle() {
        return Optional.empty();
    }

    @Override
    public Backend create(Precision precision) {
        return ReferenceBackend.instance();
    }
}
