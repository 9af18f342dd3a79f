package org.moe4j.router.loss;

import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.loss.VariationLoss.Quantity;

/** A variation loss of one layer. */
final class Variation {
    private final VariationLoss loss;
    private final RoutedTokens layer;
    private final TokenGroups groups;
    private final int experts;
    private final double[] parts; // T·E, what each token adds to the quantity of each expert
    private final double share;

    Variation(VariationLoss loss, RoutedTokens layer) {
        this.loss = loss;
        this.layer = layer;
        groups = loss.bySequence() ? TokenGroups.sequences(layer) : TokenGroups.batch(layer);
        experts = layer.routing().experts();
        parts = switch (loss.quantity()) {
            case WEIGHTS -> weights(layer.routing());
            case CLEAN_SOFTMAX -> Softmax.rows(layer.cleanLogits(), experts, groups);
            case LOAD, LOAD_ABOVE_LAST ->
                hasProbabilities() ? new NoisyLoad(layer, isAboveLast()).probabilities() : choices(layer.routing());
        };
        int filled = 0;
        for (int g = 0; g < groups.groups(); g++) {
            filled += groups.count(g) > 0 ? 1 : 0;
        }
        share = loss.coefficient() / Math.max(1, filled);
    }

    private boolean isAboveLast() {
        return loss.quantity() == Quantity.LOAD_ABOVE_LAST;
    }

    private boolean hasProbabilities() {
        int topK = layer.topK();
        return layer.noiseDeviations().isPresent() && topK > 0 && (isAboveLast() || topK < experts);
    }

    private static double[] weights(Routing routing) {
        double[] weights = new double[routing.tokens() * routing.experts()];
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                weights[t * routing.experts() + routing.expert(t, rank)] = routing.weight(t, rank);
            }
        }
        return weights;
    }

    private static double[] choices(Routing routing) {
        double[] chosen = new double[routing.tokens() * routing.experts()];
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                chosen[t * routing.experts() + routing.expert(t, rank)] = 1;
            }
        }
        return chosen;
    }

    double value() {
        double value = 0;
        for (int g = 0; g < groups.groups(); g++) {
            value += share * new SquaredVariation(quantity(g), loss.epsilon()).value();
        }
        return value;
    }

    /** Adds the quantities of all groups. */
    void addQuantities(double[] into) {
        for (int g = 0; g < groups.groups(); g++) {
            BalanceSums.add(quantity(g), into);
        }
    }

    private double[] quantity(int group) {
        double[] q = new double[experts];
        for (int t = groups.from(group); t < groups.to(group); t++) {
            for (int e = 0; e < experts && groups.valid(t); e++) {
                q[e] += parts[t * experts + e];
            }
        }
        return q;
    }

    void addGradients(LogitGradients into) {
        double[] dParts = new double[parts.length];
        for (int g = 0; g < groups.groups(); g++) {
            double[] dQuantity = new SquaredVariation(quantity(g), loss.epsilon()).gradients(share);
            for (int t = groups.from(g); t < groups.to(g); t++) {
                for (int e = 0; e < experts && groups.valid(t); e++) {
                    dParts[t * experts + e] = dQuantity[e];
                }
            }
        }
        switch (loss.quantity()) {
            case WEIGHTS -> addWeightGradients(dParts, into.logits());
            case CLEAN_SOFTMAX -> Softmax.addGradients(parts, dParts, experts, into.cleanLogits());
            case LOAD, LOAD_ABOVE_LAST -> {
                if (hasProbabilities()) {
                    new NoisyLoad(layer, isAboveLast()).addGradients(dParts, into);
                }
            }
        }
    }

    private void addWeightGradients(double[] dParts, double[] dLogits) {
        Routing routing = layer.routing();
        double[] dWeights = new double[routing.slots()];
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                dWeights[routing.slot(t, rank)] = dParts[t * experts + routing.expert(t, rank)];
            }
        }
        BalanceSums.add(layer.logitGradientsOfWeights(dWeights), dLogits);
    }
}
