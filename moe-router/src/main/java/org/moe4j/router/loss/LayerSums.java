package org.moe4j.router.loss;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.moe4j.core.internal.Require;
import org.moe4j.router.loss.VariationLoss.Quantity;

/** What some losses read of the tokens of a layer that came so far: numbers that add up. Each is summed once, however many losses read it. */
final class LayerSums {
    private static final int UNKNOWN = -1; // before the first block

    private final Map<Scores, Map<Counts, GroupSums>> balance = new EnumMap<>(Scores.class);
    private final Map<Quantity, double[]> quantities = new EnumMap<>(Quantity.class);
    private final List<RouterLoss> losses;
    private double squares;
    private long valid;
    private int experts = UNKNOWN;
    private int topK = UNKNOWN;

    private LayerSums(List<RouterLoss> losses) {
        this.losses = losses;
    }

    /** Layers without tokens. */
    static List<LayerSums> of(List<RouterLoss> losses, int layers) {
        List<LayerSums> all = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            all.add(new LayerSums(losses));
        }
        return all;
    }

    /** A loss with a coefficient of 1. */
    static RouterLoss formula(RouterLoss loss) {
        if (loss instanceof LoadBalancingLoss of) {
            return new LoadBalancingLoss(
                    of.name(), 1, of.counts(), of.scores(), of.grouping(), of.perChoice(), of.divisor());
        }
        return loss instanceof VariationLoss of
                ? new VariationLoss(of.name(), 1, of.quantity(), of.bySequence(), of.epsilon())
                : new ZLoss(1, ((ZLoss) loss).divisor());
    }

    /** Refuses a block of a layer of another kind. */
    void requireLike(RoutedTokens block) {
        if (experts != UNKNOWN) {
            Require.count("block", block.routing().experts(), experts, "experts, as in the blocks before");
            Require.count("block", block.topK(), topK, "experts per token, as in the blocks before");
        }
    }

    private void start(int withExperts, int withTopK) {
        if (experts != UNKNOWN) {
            return;
        }
        experts = withExperts;
        topK = withTopK;
        for (RouterLoss loss : losses) {
            if (loss instanceof LoadBalancingLoss of) {
                group(of.scores(), of.counts());
            } else if (loss instanceof VariationLoss of) {
                quantities(of.quantity());
            }
        }
    }

    private Map<Counts, GroupSums> group(Scores scores) {
        return balance.computeIfAbsent(scores, absent -> new EnumMap<>(Counts.class));
    }

    private GroupSums group(Scores scores, Counts counts) {
        return group(scores).computeIfAbsent(counts, absent -> new GroupSums(experts, topK));
    }

    private double[] quantities(Quantity quantity) {
        return quantities.computeIfAbsent(quantity, absent -> new double[experts]);
    }

    /** Adds a block, or nothing of it where something in it is refused. */
    void add(RoutedTokens block) {
        start(block.routing().experts(), block.topK());
        TokenGroups groups = TokenGroups.batch(block);
        Map<Scores, double[]> scores = new EnumMap<>(Scores.class);
        for (Scores kind : balance.keySet()) {
            scores.put(kind, kind.of(block, groups, new double[block.routing().tokens()]));
        }
        if (losses.stream().anyMatch(ZLoss.class::isInstance)) {
            squares += ZLoss.squares(block);
        }
        valid += groups.count();
        scores.forEach(
                (kind, u) -> group(kind).forEach((counts, sums) -> sums.add(block.routing(), counts, u, groups, 0)));
        quantities.forEach((quantity, sums) ->
                new Variation(new VariationLoss("", 1, quantity, false, 0), block).addQuantities(sums));
    }

    /** Adds another layer, which becomes one group with this. */
    void add(LayerSums other) {
        if (other.experts == UNKNOWN) {
            return;
        }
        start(other.experts, other.topK);
        valid += other.valid;
        squares += other.squares;
        other.balance.forEach((kind, byCounts) ->
                byCounts.forEach((counts, sums) -> group(kind, counts).add(sums)));
        other.quantities.forEach((quantity, sums) -> BalanceSums.add(sums, quantities(quantity)));
    }

    /** What a loss is worth of the tokens so far as one group; 0 without any. */
    double value(RouterLoss loss) {
        if (experts == UNKNOWN) {
            return 0;
        }
        if (loss instanceof LoadBalancingLoss of) {
            return Balance.value(of, topK, group(of.scores(), of.counts()));
        }
        if (loss instanceof VariationLoss of) {
            return of.coefficient() * new SquaredVariation(quantities(of.quantity()), of.epsilon()).value();
        }
        return ((ZLoss) loss).value(squares, valid);
    }
}
