package org.moe4j.bench.study.collapse;

import java.util.List;

/**
 * A size at which the function of both forms is compared: one set of weights, partitioned in several ways.
 *
 * @param name for tables
 * @param hiddenSize D
 * @param width F of the wide expert
 * @param tokens T, at least 2
 * @param partitions the widths of the parts, F in all
 * @param fitted whether the best fixed down projection is looked for; takes at least twice as many tokens as F
 */
public record FunctionSize(
        String name, int hiddenSize, int width, int tokens, List<List<Integer>> partitions, boolean fitted) {
    /**
     * Copies and checks.
     *
     * @param name for tables
     * @param hiddenSize D
     * @param width F of the wide expert
     * @param tokens T, at least 2
     * @param partitions the widths of the parts, F in all
     * @param fitted whether the best fixed down projection is looked for; takes at least twice as many tokens as F
     */
    public FunctionSize {
        partitions = partitions.stream().map(List::copyOf).toList();
        if (tokens < 2) {
            throw new IllegalArgumentException("tokens: expected at least 2 but was " + tokens);
        }
        if (fitted && tokens < 2 * width) {
            throw new IllegalArgumentException(
                    "tokens: expected at least " + 2 * width + " (twice the width, fitted) but was " + tokens);
        }
        for (List<Integer> widths : partitions) {
            int sum = widths.stream().mapToInt(Integer::intValue).sum();
            if (sum != width) {
                throw new IllegalArgumentException(
                        "partitions: expected widths of " + width + " in all but was " + widths);
            }
        }
    }

    /**
     * The size of Figure 68 of the report on Olmo's MoE recipe, 24 columns in six dimensions. For three experts the widths are the
     * figure's; for other numbers they are chosen, and uneven.
     *
     * @return one to six experts
     */
    public static FunctionSize figure() {
        return new FunctionSize(
                "figure",
                6,
                24,
                512,
                List.of(
                        List.of(24),
                        List.of(14, 10),
                        List.of(10, 8, 6),
                        List.of(9, 7, 5, 3),
                        List.of(8, 6, 5, 3, 2),
                        List.of(7, 6, 4, 4, 2, 1)),
                true);
    }

    /**
     * The shared branch of that report's study, and its own example of a split (Section 20.4).
     *
     * @return two experts of width 640
     */
    public static FunctionSize report() {
        return new FunctionSize("report", 2560, 1280, 16, List.of(List.of(640, 640)), false);
    }
}
