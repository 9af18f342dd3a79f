package org.moe4j.core.backend;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backends.Precision;
import org.moe4j.core.reference.ReferenceBackend;

final class KnownBackendsTest {
    private static final OptionalInt NEVER = OptionalInt.empty();

    /** Makes the reference, whatever it is called. */
    private record Known(String name, OptionalInt rank, Optional<String> obstacle) implements Backends.Provider {
        Known(String name, OptionalInt rank, String obstacle) {
            this(name, rank, Optional.of(obstacle).filter(what -> !what.isEmpty()));
        }

        @Override
        public Backend create(Precision precision) {
            assertThat(obstacle).isEmpty();
            return ReferenceBackend.instance();
        }
    }

    private static Known ranked(String name, int rank, String obstacle) {
        return new Known(name, OptionalInt.of(rank), obstacle);
    }

    private static KnownBackends known(Backends.Provider... providers) {
        return KnownBackends.of(Stream.of(providers));
    }

    @Test
    void theFirstByRankThatCanRunIsTheBest() {
        KnownBackends all = known(new Known("plain", NEVER, ""), ranked("second", 2, ""), ranked("first", 1, ""));
        assertThat(all.best()).hasToString("backend: first");
        assertThat(all.best().create(Precision.FLOAT32)).isEqualTo(ReferenceBackend.instance());
    }

    @Test
    void whatIsPassedOverIsSaid() {
        KnownBackends all = known(ranked("second", 2, ""), ranked("first", 1, "expected a but was b; do c"));
        assertThat(all.best())
                .hasToString("backend: second, as others cannot run here: first: expected a but was b; do c");
    }

    @Test
    void noneIsAnErrorThatSaysWhatEachLacksAndWhatNeedsNothing() {
        KnownBackends.Choice none = known(
                        new Known("plain", NEVER, ""),
                        ranked("first", 1, "expected a but was b"),
                        ranked("second", 2, "expected c but was d"))
                .best();
        assertThatThrownBy(() -> none.create(Precision.FLOAT64))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("backends: expected one that can run here but was none: first: expected a but was b;"
                        + " second: expected c but was d; slow, but without needs:"
                        + " Backends.named(\"plain\", precision)");
    }

    @Test
    void aNameThatCannotRunSaysWhatItLacks() {
        KnownBackends all = known(ranked("first", 1, "expected a but was b; do c"));
        assertThatThrownBy(() -> all.named("first"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("first: expected a but was b; do c");
    }

    @Test
    void anUnknownNameListsTheKnownOnes() {
        KnownBackends all = known(new Known("plain", NEVER, ""), ranked("second", 2, ""), ranked("first", 1, "x"));
        assertThatThrownBy(() -> all.named("gpu"))
                .isInstanceOf(NoSuchElementException.class)
                .hasMessage("name: expected one of [first, second, plain] but was gpu");
    }
}
