package org.moe4j.core.host;

import java.util.Optional;
import java.util.function.Supplier;

/**
 * What a self-check of this process finds, checked when it is first asked for and kept. A check that could not be finished, as without
 * memory, decides nothing and is made again by the next one who asks.
 */
public final class Verdict {
    private final Supplier<Optional<String>> check;
    private boolean known;
    private Optional<String> fault = Optional.empty();

    /**
     * A check that was not made yet.
     *
     * @param check says what is wrong, if anything is
     */
    public Verdict(Supplier<Optional<String>> check) {
        this.check = check;
    }

    /**
     * What is wrong; whoever asks while it is being checked waits.
     *
     * @return empty when nothing is
     */
    public synchronized Optional<String> fault() {
        if (!known) {
            fault = check.get();
            known = true;
        }
        return fault;
    }
}
