package org.moe4j.router.loss;

import java.util.List;

/**
 * A loss of the routing of one or several layers. Without valid tokens it is 0, and has no gradient.
 *
 * <p>A loss of several layers is the sum of what it is for each of them, as when each router carried it, unless it says otherwise.
 */
public sealed interface RouterLoss
        permits ZLoss, LoadBalancingLoss, GlobalBalancingLoss, HierarchicalLoss, VariationLoss {
    /**
     * What it is called where its value is shown.
     *
     * @return as {@code z-loss}
     */
    String name();

    /**
     * What its formula is multiplied by.
     *
     * @return at least 0
     */
    double coefficient();

    /**
     * The loss, already multiplied by its coefficient.
     *
     * @param layers the layers in their order
     * @return a finite number, unless coefficient or logits are so large that the product overflows
     */
    double value(List<? extends RoutedTokens> layers);

    /**
     * Adds the gradients of {@link #value}.
     *
     * @param layers the layers, as given to {@link #value}
     * @param into one per layer
     */
    void addGradients(List<? extends RoutedTokens> layers, List<LogitGradients> into);
}
