package org.moe4j.core.internal;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Finds the known word that was probably meant. */
public final class Spelling {
    private static final int SHORTEST = 3; // letters from which on a beginning says something

    private Spelling() {}

    /**
     * The nearest known word by edit distance, or else the one that begins with the word.
     *
     * @param word as written
     * @param known the right words
     * @return empty when none is near (more than a third of the letters differ) and not exactly one begins so
     */
    public static Optional<String> closest(String word, Collection<String> known) {
        List<String> longer = known.stream()
                .filter(right -> word.length() >= SHORTEST && right.startsWith(word))
                .toList();
        return known.stream()
                .filter(right ->
                        Math.abs(word.length() - right.length()) <= farthest(right)) // a long word would take long
                .filter(right -> distance(word, right) <= farthest(right))
                .min(Comparator.comparingInt((String right) -> distance(word, right))
                        .thenComparing(right -> right))
                .or(() -> longer.size() == 1 ? Optional.of(longer.get(0)) : Optional.empty());
    }

    private static int farthest(String right) {
        return Math.max(2, right.length() / 3);
    }

    /** Levenshtein distance, case ignored. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                boolean same = Character.toLowerCase(a.charAt(i - 1)) == Character.toLowerCase(b.charAt(j - 1));
                int replaced = diagonal + (same ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
