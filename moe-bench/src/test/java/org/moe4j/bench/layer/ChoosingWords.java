package org.moe4j.bench.layer;

import java.util.Optional;

/**
 * How experts are chosen where it is not by the K largest of a token, in the words and numbers of the preset files.
 *
 * @param rule {@code top-k}, {@code top-two-all}, {@code top-two-random}, {@code top-two-sampled}, {@code sinkhorn} or
 *     {@code expert-choice}
 * @param number threshold of {@code top-two-random}, tolerance of {@code sinkhorn}
 * @param rows of {@code expert-choice}: how many tokens an expert takes, with the scope
 */
record ChoosingWords(String rule, double number, Optional<CapacityWords> rows) {
    static final ChoosingWords TOP_K = of("top-k", 0);

    static ChoosingWords of(String rule, double number) {
        return new ChoosingWords(rule, number, Optional.empty());
    }

    boolean ofTwo() {
        return rule.startsWith("top-two");
    }

    /** Whether the experts of a token depend on other tokens. */
    boolean wholeBatch() {
        return rule.equals("sinkhorn") || rule.equals("expert-choice");
    }

    /** Whether every token has K experts. */
    boolean fixedCount() {
        return !rule.equals("top-two-random") && !rule.equals("expert-choice");
    }

    @Override
    public String toString() {
        return rule
                + (number == 0 ? "" : "(" + number + ")")
                + rows.map(words -> "(" + words + ")").orElse("");
    }
}
