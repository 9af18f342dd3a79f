package org.moe4j.router.loss;

import java.util.List;
import java.util.Optional;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.RowMask;

/** The rows of a layer as losses see them: which are valid, and in which groups they stand. Sequences without rows are no groups. */
final class TokenGroups {
    private final Optional<RowMask> mask;
    private final int[] bounds; // group g is bounds[g] .. bounds[g + 1]

    private TokenGroups(RoutedTokens layer, int[] bounds) {
        layer.context().requireTokens(layer.routing().tokens());
        mask = layer.context().valid();
        this.bounds = bounds;
    }

    /** All rows as one group. */
    static TokenGroups batch(RoutedTokens layer) {
        return new TokenGroups(layer, new int[] {0, layer.routing().tokens()});
    }

    /** A group for each sequence. */
    static TokenGroups sequences(RoutedTokens layer) {
        List<Integer> lengths = layer.context().sequenceLengths();
        if (lengths.isEmpty()) {
            return batch(layer);
        }
        int[] rows = lengths.stream()
                .mapToInt(Integer::intValue)
                .filter(length -> length > 0)
                .toArray();
        int[] bounds = new int[rows.length + 1];
        for (int g = 0; g < rows.length; g++) {
            bounds[g + 1] = bounds[g] + rows[g];
        }
        return new TokenGroups(layer, bounds);
    }

    int groups() {
        return bounds.length - 1;
    }

    int from(int group) {
        return bounds[group];
    }

    int to(int group) {
        return bounds[group + 1];
    }

    int rows(int group) {
        return to(group) - from(group);
    }

    boolean valid(int token) {
        return mask.isEmpty() || mask.get().valid(token);
    }

    int valid(int from, int to) {
        int count = 0;
        for (int t = from; t < to; t++) {
            count += valid(t) ? 1 : 0;
        }
        return count;
    }

    /** Valid rows of a group. */
    int count(int group) {
        return valid(from(group), to(group));
    }

    /** Valid rows of all groups. */
    int count() {
        return valid(0, bounds[bounds.length - 1]);
    }

    /** Refuses gradients of other layers. */
    static void requireOnePerLayer(List<LogitGradients> into, List<? extends RoutedTokens> layers) {
        Require.count("into", into.size(), layers.size(), "(one per layer)");
        for (int i = 0; i < into.size(); i++) {
            Routing routing = layers.get(i).routing();
            long numbers = (long) routing.tokens() * routing.experts();
            Require.count("into", into.get(i).logits().length, numbers, "numbers (T x E) for layer " + i);
        }
    }

    /** A coefficient that losses take. */
    static double coefficient(double coefficient) {
        if (!(coefficient >= 0) || Double.isInfinite(coefficient)) {
            throw Require.expected("coefficient", "a finite number of at least 0", coefficient);
        }
        return coefficient;
    }
}
