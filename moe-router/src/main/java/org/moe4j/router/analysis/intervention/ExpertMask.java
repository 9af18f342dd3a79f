package org.moe4j.router.analysis.intervention;

import java.util.Arrays;
import java.util.Objects;
import java.util.stream.IntStream;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.Router;
import org.moe4j.router.TopKRouter;

/** Which of E experts are masked: they take no token. */
public final class ExpertMask {
    private final boolean[] masked;

    private ExpertMask(boolean[] masked) {
        this.masked = masked;
    }

    /**
     * Some experts masked.
     *
     * @param experts E, at least 1
     * @param masked any number of experts
     * @return the mask
     * @throws IllegalArgumentException for {@code experts} below 1 or {@code masked} out of range
     */
    public static ExpertMask without(int experts, int... masked) {
        boolean[] marks = new boolean[Require.atLeast("experts", experts, 1)];
        for (int expert : masked) {
            marks[Require.inRange("masked", expert, 0, experts - 1, "experts")] = true;
        }
        return new ExpertMask(marks);
    }

    /**
     * All but some experts masked.
     *
     * @param experts E, at least 1
     * @param kept any number of experts
     * @return the mask
     */
    public static ExpertMask keeping(int experts, int... kept) {
        boolean[] marks = without(experts, kept).masked;
        for (int e = 0; e < experts; e++) {
            marks[e] = !marks[e];
        }
        return new ExpertMask(marks);
    }

    /**
     * All but the most used experts masked; of equally used ones the lower is kept.
     *
     * @param load tokens of each of E experts, as {@link org.moe4j.router.analysis.ExpertLoad#counts}
     * @param kept how many, in 0..E
     * @return the mask
     * @throws IllegalArgumentException for {@code kept} outside 0..E
     */
    public static ExpertMask keepingMostUsed(long[] load, int kept) {
        Require.inRange("kept", kept, 0, load.length, "experts");
        return keeping(
                load.length,
                IntStream.range(0, load.length)
                        .boxed()
                        .sorted((a, b) -> Long.compare(load[b], load[a])) // stable
                        .limit(kept)
                        .mapToInt(Integer::intValue)
                        .toArray());
    }

    /**
     * Number of experts.
     *
     * @return E
     */
    public int experts() {
        return masked.length;
    }

    /**
     * Whether an expert is masked.
     *
     * @param expert 0 ≤ expert &lt; E
     * @return true for one that takes no token
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public boolean isMasked(int expert) {
        return masked[Objects.checkIndex(expert, masked.length)];
    }

    /**
     * How many experts are not masked.
     *
     * @return 0..E
     */
    public int left() {
        return (int) IntStream.range(0, masked.length).filter(e -> !masked[e]).count();
    }

    /**
     * The mask before the choice: masked experts have a logit and a choice score below all others, a score of 0 and so no part in a
     * softmax, and the next best take their places. Every token has K experts as before.
     *
     * @param router looks at one token at a time
     * @return routes without noise and without a backward; it is the given router otherwise, which is closed with it
     * @throws IllegalArgumentException for a mask that leaves fewer than K experts, or a router that looks at the whole batch
     */
    public Router beforeChoice(TopKRouter router) {
        return new MaskedChoice(router, this);
    }

    /**
     * The mask after the choice: tokens go where they went, but not to masked experts, so that a token may have fewer than K or none.
     *
     * @param router any
     * @param weights what becomes of the weights of the others
     * @return routes without a backward; it is the given router otherwise, which is closed with it
     */
    public Router afterChoice(Router router, RemovedWeight weights) {
        return new MaskedRouting(router, this, weights);
    }

    void requireFits(Router router) {
        Require.count("mask", masked.length, router.experts(), "experts (of the router)");
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ExpertMask that && Arrays.equals(masked, that.masked);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(masked);
    }

    @Override
    public String toString() {
        return "ExpertMask[" + left() + " of " + masked.length + " experts left]";
    }
}
