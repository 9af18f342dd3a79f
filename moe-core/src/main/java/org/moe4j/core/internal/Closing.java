package org.moe4j.core.internal;

import java.util.List;
import java.util.function.Consumer;

/** Closing several things at once, for which the Java heap may be full: an iterator would already be too much. */
public final class Closing {
    private Closing() {}

    /**
     * Closes each.
     *
     * @param <C> what is closed
     * @param all in an order that can be counted
     * @param close without captured variables, so that it is no new object either
     */
    public static <C> void each(List<? extends C> all, Consumer<C> close) {
        for (int i = 0; i < all.size(); i++) {
            close.accept(all.get(i));
        }
    }
}
