package org.moe4j.core.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class UnfinishedTest {
    private final List<String> closed = new ArrayList<>();

    @Test
    void closesAllInReverseAlsoAfterARefusal() {
        Unfinished unfinished = new Unfinished();
        unfinished.add(() -> closed.add("first"));
        unfinished.<AutoCloseable>add(() -> {
            throw new IOException("disk");
        });
        unfinished.<AutoCloseable>add(() -> {
            throw new IllegalStateException("in use");
        });
        unfinished.add(() -> closed.add("last"));
        assertThatThrownBy(unfinished::close)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("in use")
                .satisfies(thrown -> assertThat(thrown.getSuppressed())
                        .singleElement()
                        .satisfies(other -> assertThat(other)
                                .hasMessage("close: expected no checked exception but was java.io.IOException: disk")));
        assertThat(closed).containsExactly("last", "first");
    }

    @Test
    void closesNothingThatWasKept() {
        Unfinished unfinished = new Unfinished();
        unfinished.add(() -> closed.add("kept"));
        unfinished.keep();
        unfinished.close();
        assertThat(closed).isEmpty();
    }
}
