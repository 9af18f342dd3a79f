package org.moe4j.router.loss;

import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.loss.VariationLoss.Quantity;

/** A variation loss of one layer. */
final class Variation {
    private static final double SMALLEST = 1e-290; // its inverse is far from the end of double

    private final VariationLoss loss;
    private final RoutedTokens layer;
    private final TokenGroups groups;
    private final int experts;
    private final double[] parts; // T·E, what each token adds to the quantity of each expert
    private final double[] largest; // of the quantities of each group
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
        largest = new double[groups.groups()];
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
            double[] q = quantity(g);
            double mean = mean(q);
            double below = below(mean, largest[g]);
            value += below == 0 ? 0 : share * variance(q, mean) / below;
        }
        return value;
    }

    /** {@code m² + ε} in units of the largest. */
    private double below(double mean, double unit) {
        return unit < SMALLEST ? 0 : mean * mean + loss.epsilon() / unit / unit;
    }

    /** In units of the largest of them, so that no square leaves the range of double. */
    private double[] quantity(int group) {
        double[] q = new double[experts];
        for (int t = groups.from(group); t < groups.to(group); t++) {
            for (int e = 0; e < experts && groups.valid(t); e++) {
                q[e] += parts[t * experts + e];
            }
        }
        for (double each : q) {
            largest[group] = Math.max(largest[group], Math.abs(each));
        }
        for (int e = 0; e < experts && largest[group] >= SMALLEST; e++) {
            q[e] /= largest[group];
        }
        return q;
    }

    private static double mean(double[] q) {
        double sum = 0;
        for (double each : q) {
            sum += each;
        }
        return sum / q.length;
    }

    private static double variance(double[] q, double mean) {
        double sum = 0;
        for (double each : q) {
            sum += (each - mean) * (each - mean);
        }
        return sum / q.length;
    }

    void addGradients(LogitGradients into) {
        double[] dParts = new double[parts.length];
        for (int g = 0; g < groups.groups(); g++) {
            double[] dQuantity = quantityGradients(quantity(g), largest[g]);
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

    private double[] quantityGradients(double[] q, double unit) {
        double mean = mean(q);
        double below = below(mean, unit);
        double variance = variance(q, mean);
        double[] dQuantity = new double[experts];
        for (int e = 0; e < experts && below != 0; e++) {
            double slope = (q[e] - mean) / below - variance / below * (mean / below);
            dQuantity[e] = share * 2 / experts * slope / unit;
        }
        return dQuantity;
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
