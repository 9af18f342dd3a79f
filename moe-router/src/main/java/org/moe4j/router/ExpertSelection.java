package org.moe4j.router;

import org.moe4j.core.internal.Require;

/**
 * Picks the experts of a token by their choice scores. The order is total: larger score first, and of equal scores
 * (−0 equals +0) the lower index first. Selection has no gradient.
 */
public sealed interface ExpertSelection {
    /**
     * Selects for one token among many.
     *
     * @param choiceScores E numbers of the token, none of them NaN
     * @param topK K in 1..E
     * @param token 0 ≤ token &lt; T
     * @param into T·K indices; those of the token are overwritten, best first
     */
    void select(double[] choiceScores, int topK, int token, int[] into);

    /**
     * Selects for one token.
     *
     * @param choiceScores E numbers, infinities allowed
     * @param topK K in 1..E
     * @return K distinct indices, best first; of equal scores the lower index first
     * @throws IllegalArgumentException for a K outside 1..E or a score that is NaN
     */
    default int[] select(double[] choiceScores, int topK) {
        Require.inRange("topK", topK, 1, choiceScores.length, "experts");
        for (int e = 0; e < choiceScores.length; e++) {
            if (Double.isNaN(choiceScores[e])) {
                throw Require.expected("choiceScores", "numbers that can be compared", "NaN for expert " + e);
            }
        }
        int[] selected = new int[topK];
        select(choiceScores, topK, 0, selected);
        return selected;
    }

    /** The K largest choice scores of all experts. */
    record PlainTopK() implements ExpertSelection {
        /**
         * {@inheritDoc}
         *
         * <p>One scan that inserts into the sorted list of the best so far: E comparisons and, for scores in random order,
         * about K·ln(E/K) insertions; E·K steps at worst.
         */
        @Override
        public void select(double[] choiceScores, int topK, int token, int[] into) {
            int first = token * topK;
            int last = first + topK - 1;
            double worst = Double.NEGATIVE_INFINITY; // of a full list
            for (int e = 0; e < choiceScores.length; e++) {
                double score = choiceScores[e];
                if (e >= topK && !(score > worst)) {
                    continue;
                }
                int place = Math.min(first + e, last);
                while (place > first && choiceScores[into[place - 1]] < score) {
                    into[place] = into[place - 1];
                    place--;
                }
                into[place] = e;
                worst = e + 1 >= topK ? choiceScores[into[last]] : worst;
            }
        }
    }
}
