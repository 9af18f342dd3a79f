package org.moe4j.bench.hostile;

import java.util.List;

/** What the robot calls, but cannot call with success, and why. */
final class Unreached {
    private static final List<String> KNOWN = List.of(
            "EightBits.numbers(" // no checkpoint on the shelf has numbers of 8 bits: the one there is takes 3 MB
            );

    private Unreached() {}

    static boolean isKnown(String executable) {
        return KNOWN.stream().anyMatch(executable::contains);
    }
}
