package org.moe4j.router.loss;

import org.moe4j.core.internal.Require;

/**
 * Over which tokens a balance loss takes its means, and what it makes of several of them.
 *
 * @param scope what a group of tokens is, and how the groups of a layer are averaged
 * @param layers what several layers are together
 * @param length how long a group is when some of its rows are padding
 */
public record Grouping(Scope scope, Layers layers, Length length) {
    /** What a group of tokens is, and what several groups of a layer are together. Sequences without rows are no groups. */
    public enum Scope {
        /** All tokens of a layer are one group. */
        BATCH,
        /** Each sequence is a group; the mean of their values. Sequences without valid tokens are left out where these alone make the length. */
        SEQUENCES,
        /** Each sequence is a group; the mean of their values weighted by their lengths. */
        SEQUENCES_BY_LENGTH,
        /**
         * Each of B sequences is a group, but n is the mean length of all of them: {@code w = B / (Σ n)²}. A long sequence weighs more than
         * its share, and a sequence without valid tokens counts in B.
         */
        SEQUENCES_OF_MEAN_LENGTH
    }

    /** What the values of several layers are together. */
    public enum Layers {
        /** Their sum, as when each router adds its own. */
        SUM,
        /** Their mean. */
        MEAN,
        /**
         * One group of the tokens of all layers, so that one layer's favourites make up for another's: the value can be that of balance
         * although every layer sends all tokens to a few experts.
         */
        POOLED
    }

    /** What n is when rows are padding. */
    public enum Length {
        /** The valid rows: padding changes nothing. */
        VALID,
        /** The valid rows and a millionth of all rows, lest one divide by 0. */
        VALID_AND_A_MILLIONTH,
        /** All rows: with padding the value is smaller. */
        ALL;

        double of(long valid, long rows) {
            return switch (this) {
                case VALID -> valid;
                case VALID_AND_A_MILLIONTH -> valid + 1e-6 * rows;
                case ALL -> rows;
            };
        }
    }

    /**
     * Checks that pooled layers have no sequences.
     *
     * @param scope what a group of tokens is
     * @param layers what several layers are together
     * @param length how long a group is
     * @throws IllegalArgumentException for pooled layers with another scope than the batch
     */
    public Grouping {
        if (layers == Layers.POOLED && scope != Scope.BATCH) {
            throw Require.expected("scope", "BATCH with POOLED layers", scope);
        }
    }

    /**
     * Groups of valid rows, and the sum over layers.
     *
     * @param scope what a group of tokens is
     */
    public Grouping(Scope scope) {
        this(scope, Layers.SUM, Length.VALID);
    }

    /**
     * The same with another way from layers to one value.
     *
     * @param other what several layers are together
     * @return a changed copy
     */
    public Grouping withLayers(Layers other) {
        return new Grouping(scope, other, length);
    }

    /**
     * The same with another length.
     *
     * @param other what n is when rows are padding
     * @return a changed copy
     */
    public Grouping withLength(Length other) {
        return new Grouping(scope, layers, other);
    }

    TokenGroups groups(RoutedTokens layer) {
        return scope == Scope.BATCH ? TokenGroups.batch(layer) : TokenGroups.sequences(layer);
    }

    /** What {@code Σ_e c_ge U_ge} of each group of a layer is multiplied by, given their lengths; 0 where there is nothing. */
    double[] weights(double[] lengths) {
        double sum = 0;
        int filled = 0;
        for (double n : lengths) {
            sum += n;
            filled += n > 0 ? 1 : 0;
        }
        double[] weights = new double[lengths.length];
        for (int g = 0; g < lengths.length; g++) {
            double n = lengths[g];
            weights[g] = n == 0
                    ? 0
                    : switch (scope) {
                        case BATCH -> 1 / (n * n);
                        case SEQUENCES -> 1 / (filled * n * n);
                        case SEQUENCES_BY_LENGTH -> 1 / (sum * n);
                        case SEQUENCES_OF_MEAN_LENGTH -> lengths.length / (sum * sum);
                    };
        }
        return weights;
    }
}
