package org.moe4j.router.loss;

import java.util.List;
import org.moe4j.core.internal.Require;
import org.moe4j.router.loss.Grouping.Layers;

/**
 * GShard's loss for routing in two levels: that of the outer layer plus that of the inner ones. The outer routing sends tokens to groups of
 * experts, an inner one sends the tokens of a group to its experts. Balanced value 2, if all inner rows count.
 *
 * <p>Both are {@link LoadBalancingLoss#meshTensorFlow}; the inner one is the mean over groups of experts. Of the inner rows those alone count
 * that came by the token's first outer choice, and the caller says so by their masks; the others, and rows nobody filled, are part of the
 * length, so that they make the inner loss smaller.
 *
 * <p>The first layer given is the outer one; the others are the inner ones, one for each group of experts, or fewer with the groups
 * as sequences.
 *
 * @param coefficient at least 0
 * @see <a href="https://github.com/tensorflow/mesh/blob/master/mesh_tensorflow/transformer/moe.py">tensorflow/mesh,
 *     {@code mesh_tensorflow/transformer/moe.py}, {@code transformer_moe_layer_v2}</a>
 */
public record HierarchicalLoss(double coefficient) implements RouterLoss {
    /**
     * Checks the coefficient.
     *
     * @param coefficient at least 0
     */
    public HierarchicalLoss {
        TokenGroups.coefficient(coefficient);
    }

    @Override
    public String name() {
        return "hierarchical";
    }

    @Override
    public double value(List<? extends RoutedTokens> layers) {
        requireTwoLevels(layers);
        return outer().value(layers.subList(0, 1)) + inner().value(layers.subList(1, layers.size()));
    }

    @Override
    public void addGradients(List<? extends RoutedTokens> layers, List<LogitGradients> into) {
        requireTwoLevels(layers);
        TokenGroups.requireOnePerLayer(into, layers);
        outer().addGradients(layers.subList(0, 1), into.subList(0, 1));
        inner().addGradients(layers.subList(1, layers.size()), into.subList(1, into.size()));
    }

    private static void requireTwoLevels(List<? extends RoutedTokens> layers) {
        if (layers.size() < 2) {
            throw Require.expected("layers", "an outer layer and at least one inner layer", layers.size() + " in all");
        }
    }

    private LoadBalancingLoss outer() {
        return LoadBalancingLoss.meshTensorFlow(coefficient);
    }

    private LoadBalancingLoss inner() {
        LoadBalancingLoss each = outer();
        return each.withGrouping(each.grouping().withLayers(Layers.MEAN));
    }
}
