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
            List<GroupSums> groups = all.get(i).groups();
            double[] weights = weights(loss, layers.get(i).topK(), groups);
            scale(weights, share);
            double[][] counts = groups.stream().map(GroupSums::counts).toArray(double[][]::new);
            parts.add(new Part(all.get(i), counts, weights));
        }
    }

    /** The groups of all layers become one: each layer's scores are multiplied with the counts of all. */
    private void pool(LoadBalancingLoss loss, List<? extends RoutedTokens> layers, List<BalanceSums> all) {
        RoutedTokens first = layers.get(0);
        int experts = first.routing().experts();
        GroupSums pooled = new GroupSums(experts, first.topK());
        for (int i = 0; i < all.size(); i++) {
            RoutedTokens layer = layers.get(i);
            Require.count("layers", layer.routing().experts(), experts, "experts, as in the first of pooled layers");
            Require.count("layers", layer.topK(), first.topK(), "experts per token, as in the first of pooled layers");
            all.get(i).groups().forEach(pooled::add);
        }
        double[] weights = weights(loss, first.topK(), List.of(pooled));
        for (BalanceSums sums : all) {
            parts.add(new Part(sums, new double[][] {pooled.counts()}, weights));
        }
    }

    /** What {@code Σ_e c_ge U_ge} of each group of a layer is multiplied by, coefficient and all. */
    private static double[] weights(LoadBalancingLoss loss, int topK, List<GroupSums> groups) {
        double[] lengths = new double[groups.size()];
        double sum = 0;
        for (int g = 0; g < lengths.length; g++) {
            lengths[g] = loss.grouping()
                    .length()
                    .of(groups.get(g).valid(), groups.get(g).rows());
            sum += lengths[g];
        }
        double[] weights = loss.grouping().weights(lengths);
        double choices = loss.perChoice() ? Math.max(1, topK) : 1; // without any choice there are no counts
        double divided = loss.divisor().isPresent() ? sum / loss.divisor().getAsDouble() : 1;
        int experts = groups.isEmpty() ? 0 : groups.get(0).counts().length;
        scale(weights, loss.coefficient() * experts / choices * divided);
        return weights;
    }

    private static void scale(double[] numbers, double factor) {
        for (int g = 0; g < numbers.length; g++) {
            numbers[g] *= factor;
        }
    }

    /** The value of tokens that are one group. */
    static double value(LoadBalancingLoss loss, int topK, GroupSums group) {
        return weights(loss, topK, List.of(group))[0] * BalanceSums.product(group.counts(), group.sums());
    }

    double value() {
        double value = 0;
        for (Part part : parts) {
            for (int g = 0; g < part.weights.length; g++) {
                value += part.weights[g]
                        * BalanceSums.product(
                                part.counts[g], part.sums.groups().get(g).sums());
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
