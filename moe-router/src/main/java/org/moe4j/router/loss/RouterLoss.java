package org.moe4j.router.loss;

import java.util.List;

/** A loss of the routing of one or several layers. Without valid tokens it is 0, and has no gradient. */
public sealed interface RouterLoss permits ZLoss {
    /**
     * What its formula is multiplied by.
     *
     * @return at least 0
     */
    double coefficient();

    /**
     * The loss, already multiplied by its coefficient.
     *
     * @param layers the layers in their order, at least one
     * @return a finite number
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
