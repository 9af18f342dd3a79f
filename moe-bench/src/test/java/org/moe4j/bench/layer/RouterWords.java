package org.moe4j.bench.layer;

import java.util.List;
import java.util.Optional;

/**
 * A router in plain words and numbers, those of the preset files; it knows nothing of the library. {@link TokenwiseRouter}
 * computes what the words say, {@link LibraryLayer} builds the library's router from them.
 *
 * @param score {@code softmax}, {@code sigmoid} or {@code sqrt-softplus}
 * @param scoreEpsilon added to every sigmoid score
 * @param groups empty for a plain choice
 * @param selectionBias one number per expert, or none at all
 * @param logitBias whether there is a parameter {@code router.bias}
 * @param precision {@code backend} or {@code double}
 */
record RouterWords(
        int experts,
        int topK,
        String score,
        double scoreEpsilon,
        Optional<Groups> groups,
        List<Double> selectionBias,
        boolean logitBias,
        Weighing weighing,
        double scale,
        String precision,
        ChoosingWords choosing) {

    /** A router that chooses the K largest. */
    RouterWords(
            int experts,
            int topK,
            String score,
            double scoreEpsilon,
            Optional<Groups> groups,
            List<Double> selectionBias,
            boolean logitBias,
            Weighing weighing,
            double scale,
            String precision) {
        this(
                experts,
                topK,
                score,
                scoreEpsilon,
                groups,
                selectionBias,
                logitBias,
                weighing,
                scale,
                precision,
                ChoosingWords.TOP_K);
    }

    /**
     * Groups of neighbouring experts.
     *
     * @param score {@code max}, {@code sum-of-top-m} with a number for m, or {@code top-k-per-kept-group}
     * @param fill of closed groups: {@code minus-infinity} or {@code zero}
     */
    record Groups(int count, int kept, String score, String fill) {
        boolean restrict() {
            return kept < count;
        }
    }

    /**
     * From selected scores to weights.
     *
     * @param renormalization {@code none}, {@code sum}, {@code norm} or {@code softmax-of-selected}
     * @param epsilon of {@code sum}; 0 for none
     * @param place of the epsilon: {@code in-sum}, {@code per-score} or {@code floor}
     * @param p of {@code norm}
     */
    record Weighing(String renormalization, double epsilon, String place, double p) {
        static Weighing of(String renormalization) {
            return new Weighing(renormalization, 0, "in-sum", 1);
        }

        /** Whether weights add up to 1 before the scale, whatever the scores. */
        boolean addsUpToOne() {
            return switch (renormalization) {
                case "softmax-of-selected" -> true;
                case "sum" -> epsilon == 0 || place.equals("per-score");
                case "norm" -> p == 1;
                default -> false;
            };
        }
    }

    /** Whether experts are ranked and weighed by their logits. */
    boolean byLogits() {
        return weighing.renormalization().equals("softmax-of-selected");
    }

    RouterWords withoutSelectionBias() {
        return with(groups, List.of(), choosing);
    }

    RouterWords withSelectionBias(List<Double> bias) {
        return with(groups, bias, choosing);
    }

    RouterWords withoutGroups() {
        return with(Optional.empty(), selectionBias, choosing);
    }

    RouterWords withTopK(int count) {
        return new RouterWords(
                experts,
                count,
                score,
                scoreEpsilon,
                groups,
                selectionBias,
                logitBias,
                weighing,
                scale,
                precision,
                choosing);
    }

    RouterWords withScale(double other) {
        return new RouterWords(
                experts,
                topK,
                score,
                scoreEpsilon,
                groups,
                selectionBias,
                logitBias,
                weighing,
                other,
                precision,
                choosing);
    }

    RouterWords with(ChoosingWords other) {
        return with(groups, selectionBias, other);
    }

    private RouterWords with(Optional<Groups> itsGroups, List<Double> bias, ChoosingWords itsChoosing) {
        return new RouterWords(
                experts,
                topK,
                score,
                scoreEpsilon,
                itsGroups,
                bias,
                logitBias,
                weighing,
                scale,
                precision,
                itsChoosing);
    }
}
