package org.moe4j.bench.sweep;

import java.util.List;
import java.util.TreeSet;
import org.moe4j.bench.limits.LayerKind;
import org.moe4j.bench.peers.LayerSize;

/**
 * What is measured: a random layer of SwiGLU experts, routed by softmax and top-K.
 *
 * @param kind backend and weights
 * @param size of the layer; its K is what others are compared with
 * @param tokens T of a call
 * @param topKs ascending, the size's K among them
 * @param quick fewer turns
 */
public record TopKSweep(LayerKind kind, LayerSize size, int tokens, List<Integer> topKs, boolean quick) {
    /**
     * Sorts and checks.
     *
     * @param kind backend and weights
     * @param size of the layer; its K is what others are compared with
     * @param tokens T of a call
     * @param topKs in any order; the size's K is added
     * @param quick fewer turns
     */
    public TopKSweep {
        if (tokens < 1 || tokens > size.mostTokens()) {
            throw new IllegalArgumentException("tokens: expected 1.." + size.mostTokens()
                    + " (a matrix has at most 2^31 - 9 elements) but was " + tokens);
        }
        for (int topK : topKs) {
            if (topK < 1 || topK > size.experts()) {
                throw new IllegalArgumentException(
                        "top-k: expected 1.." + size.experts() + " (experts) but was " + topK);
            }
        }
        TreeSet<Integer> sorted = new TreeSet<>(topKs);
        sorted.add(size.topK());
        topKs = List.copyOf(sorted);
    }

    /**
     * Where nobody says otherwise.
     *
     * @param size of the layer
     * @return the powers of two below E, and E
     */
    public static List<Integer> allPowers(LayerSize size) {
        TreeSet<Integer> topKs = new TreeSet<>();
        for (int topK = 1; topK < size.experts(); topK *= 2) {
            topKs.add(topK);
        }
        topKs.add(size.experts());
        return List.copyOf(topKs);
    }
}
