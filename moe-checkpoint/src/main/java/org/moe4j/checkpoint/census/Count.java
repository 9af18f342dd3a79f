package org.moe4j.checkpoint.census;

import java.util.OptionalLong;

/**
 * How many parameters.
 *
 * @param parameters that are stored
 * @param active of these that work on one token: K of E routed experts, all of everything else
 * @param bytes that they take, with the scales of narrow types; empty where it is not known what they are stored as
 */
public record Count(long parameters, long active, OptionalLong bytes) {
    /** Nothing at all. */
    static final Count NONE = new Count(0, 0, OptionalLong.of(0));

    /** Both together. */
    Count plus(Count other) {
        return new Count(
                Math.addExact(parameters, other.parameters),
                Math.addExact(active, other.active),
                bytes.isPresent() && other.bytes.isPresent()
                        ? OptionalLong.of(Math.addExact(bytes.getAsLong(), other.bytes.getAsLong()))
                        : OptionalLong.empty());
    }
}
