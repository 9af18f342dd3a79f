package org.moe4j.router.loss;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.core.internal.Require;
import org.moe4j.router.loss.Grouping.Layers;

/** A balance loss of given layers: {@code Σ_groups w_g Σ_e c_ge U_ge}. */
final class Balance {
    /** One layer: its sums, the counts its scores are multiplied with, and the weights of its groups. */
    @SuppressWarnings("ArrayRecordComponent") // seen by this class alone
    private record Part(BalanceSums sums, double[][] counts, double[] weights) {}

    private final List<Part> parts = new ArrayList<>();

    Balance(LoadBalancingLoss loss, List<? extends RoutedTokens> layers) {
        List<BalanceSums> all = new ArrayList<>();
        for (RoutedTokens layer : layers) {
            all.add(new BalanceSums(
                    layer, loss.counts(), loss.scores(), loss.grouping().groups(layer)));
        }
        if (loss.grouping().layers() == Layers.POOLED && layers.size() > 1) {
            pool(loss, layers, all);
            return;
        }
        double share = loss.grouping().layers() == Layers.MEAN ? 1.0 / layers.size() : 1;
        for (int i = 0; i < all.size(); i++) {
            double[] lengths = lengths(loss, all.get(i).groups());
            double[] weights = loss.grouping().weights(lengths);
            scale(weights, share * factor(loss, layers.get(i), sum(lengths)));
            double[][] counts = new double[lengths.length][];
            for (int g = 0; g < counts.length; g++) {
                counts[g] = all.get(i).counts(g);
            }
            parts.add(new Part(all.get(i), counts, weights));
        }
    }

    /** The groups of all layers become one: each layer's scores are multiplied with the counts of all. */
    private void pool(LoadBalancingLoss loss, List<? extends RoutedTokens> layers, List<BalanceSums> all) {
        RoutedTokens first = layers.get(0);
        double[] counts = new double[first.routing().experts()];
        double length = 0;
        for (int i = 0; i < all.size(); i++) {
            RoutedTokens layer = layers.get(i);
            Require.count(
                    "layers", layer.routing().experts(), counts.length, "experts, as in the first of pooled layers");
            Require.count("layers", layer.topK(), first.topK(), "experts per token, as in the first of pooled layers");
            BalanceSums.add(all.get(i).counts(0), counts);
            length += sum(lengths(loss, all.get(i).groups()));
        }
        double[] weights = loss.grouping().weights(new double[] {length});
        scale(weights, factor(loss, first, length));
        for (BalanceSums sums : all) {
            parts.add(new Part(sums, new double[][] {counts}, weights));
        }
    }

    private static double[] lengths(LoadBalancingLoss loss, TokenGroups groups) {
        double[] lengths = new double[groups.groups()];
        for (int g = 0; g < lengths.length; g++) {
            lengths[g] = loss.grouping().length(groups, g);
        }
        return lengths;
    }

    private static double sum(double[] numbers) {
        double sum = 0;
        for (double number : numbers) {
            sum += number;
        }
        return sum;
    }

    private static void scale(double[] numbers, double factor) {
        for (int g = 0; g < numbers.length; g++) {
            numbers[g] *= factor;
        }
    }

    private static double factor(LoadBalancingLoss loss, RoutedTokens layer, double length) {
        double choices = loss.perChoice() ? Math.max(1, layer.topK()) : 1; // without any choice there are no counts
        double divided = loss.divisor().isPresent() ? length / loss.divisor().getAsDouble() : 1;
        return loss.coefficient() * layer.routing().experts() / choices * divided;
    }

    double value() {
        double value = 0;
        for (Part part : parts) {
            for (int g = 0; g < part.weights.length; g++) {
                value += part.weights[g] * BalanceSums.product(part.counts[g], part.sums.sums(g));
            }
        }
        return value;
    }

    void addGradients(List<LogitGradients> into) {
        for (int i = 0; i < parts.size(); i++) {
            Part part = parts.get(i);
            part.sums.addGradients(part.weights, part.counts, into.get(i));
        }
    }
}
