package org.moe4j.bench.layer;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.IntStream;

/**
 * What a call knows beside the tokens.
 *
 * @param lengths of consecutive sequences that add up to the tokens; empty for one sequence
 * @param padding tokens that do not count in losses
 * @param noiseSeed empty for no noise
 */
record Situation(List<Integer> lengths, List<Integer> padding, OptionalLong noiseSeed) {
    static final Situation PLAIN = new Situation(List.of(), List.of(), OptionalLong.empty());

    boolean isPlain() {
        return equals(PLAIN);
    }

    /** The tokens of each sequence. */
    List<List<Integer>> sequences(int tokens) {
        List<List<Integer>> sequences = new ArrayList<>();
        int from = 0;
        for (int length : lengths.isEmpty() ? List.of(tokens) : lengths) {
            sequences.add(IntStream.range(from, from + length).boxed().toList());
            from += length;
        }
        return sequences;
    }

    /** The tokens that count. */
    List<Integer> valid(int tokens) {
        return IntStream.range(0, tokens)
                .filter(t -> !padding.contains(t))
                .boxed()
                .toList();
    }
}
