package org.moe4j.checkpoint.layout;

import java.util.Locale;
import org.moe4j.core.internal.Require;

/**
 * One axis of a tensor: a size of the part, or two parts that share it.
 *
 * @param letter of the size
 * @param take which of its elements are this part's
 */
record Axis(char letter, Take take) {
    /** Which elements of an axis belong to a part; a part that takes half of them has another part beside it. */
    enum Take {
        WHOLE,
        FIRST,
        SECOND,
        EVEN,
        ODD
    }

    /** {@code F} is the whole axis; {@code 2F.first}, {@code 2F.second}, {@code 2F.even} and {@code 2F.odd} are halves of one. */
    static Axis parse(String text) {
        String trimmed = text.trim();
        if (trimmed.matches("[EDLFS1]")) {
            return new Axis(trimmed.charAt(0), Take.WHOLE);
        }
        if (trimmed.matches("2[EDLFS]\\.(first|second|even|odd)")) {
            return new Axis(trimmed.charAt(1), Take.valueOf(trimmed.substring(3).toUpperCase(Locale.ROOT)));
        }
        throw Require.expected("axis", "a letter of [E, D, L, F, S, 1], or as 2F.first", trimmed);
    }

    /** Elements of the axis for a part with so many of its own. */
    long length(int own) {
        return take == Take.WHOLE ? own : 2L * own;
    }

    /** As {@code 2 intermediateSize}. */
    String words(LayerPart part) {
        return (take == Take.WHOLE ? "" : "2 ") + Sizes.name(letter, part);
    }

    /** From one of the part's elements to the next. */
    int step() {
        return take == Take.EVEN || take == Take.ODD ? 2 : 1;
    }

    /** The part's first element. */
    long first(int own) {
        return switch (take) {
            case WHOLE, FIRST, EVEN -> 0;
            case SECOND -> own;
            case ODD -> 1;
        };
    }
}
