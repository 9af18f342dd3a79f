package org.moe4j.router.loss;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.moe4j.core.internal.Require;
import org.moe4j.core.preset.Preset;

/** Several losses: those of a preset, those that balance, and their values of tokens that come in blocks. */
public final class RouterLosses {
    private static final int MOST_LAYERS = 1 << 16; // each keeps sums of its own

    private RouterLosses() {}

    /**
     * The losses of a preset, for {@link org.moe4j.router.TopKRouter#withLosses} or for a trainer that evaluates them over all layers; a
     * router made from the preset does not have them by itself.
     *
     * <ul>
     *   <li>{@code loadBalancing}: switch, mesh-tensorflow, lingvo, flaxformer, transformers, megatron, megatron-sequence, olmo-core,
     *       olmo-core-instance, megablocks, deepseek-batch, deepseek-sequence or deepseek-v3: the factories of {@link LoadBalancingLoss};
     *       with {@code loadBalancing.coefficient}, required
     *   <li>{@code zLoss.coefficient}
     *   <li>{@code importance}: shazeer or v-moe; with {@code importance.coefficient}, required
     *   <li>{@code load}: shazeer or v-moe; with {@code load.coefficient}, required
     * </ul>
     *
     * @param preset the model's layer
     * @return in this order; none without the section
     * @throws IllegalArgumentException for an unknown key, a value that is none of the known ones, or a key that has no meaning
     *     beside the others
     */
    public static List<RouterLoss> from(Preset preset) {
        return LossSection.read(preset);
    }

    /**
     * The balance loss in the normalisation of every system that has a name here: the factories of {@link LoadBalancingLoss}.
     *
     * @param coefficient at least 0, of each
     * @return thirteen losses, by their names
     */
    public static List<RouterLoss> balancing(double coefficient) {
        return new TreeMap<>(LossSection.BALANCE)
                .values().stream().map(make -> make.apply(coefficient)).toList();
    }

    /**
     * Values of losses over tokens that come in blocks, in memory that does not grow with them.
     *
     * @param losses any but {@link GlobalBalancingLoss} and {@link HierarchicalLoss}, whose layers are not alike
     * @param layers L, at least 1
     * @return sums without tokens
     * @throws IllegalArgumentException for a loss that cannot be summed
     */
    public static Running running(List<? extends RouterLoss> losses, int layers) {
        for (RouterLoss loss : losses) {
            if (loss instanceof GlobalBalancingLoss || loss instanceof HierarchicalLoss) {
                throw Require.expected("losses", "losses of layers that are alike", loss.name());
            }
        }
        return new Running(List.copyOf(losses), Require.inRange("layers", layers, 1, MOST_LAYERS, "layers of a model"));
    }

    /**
     * Losses of L layers so far: what {@link RouterLoss#value} gives of all tokens at once, but for the rounding of sums.
     *
     * <p>The tokens of a layer are one batch and one sequence. All layers have as many experts, and as many per token.
     *
     * <p>Not for use by several threads.
     */
    public static final class Running {
        private final List<RouterLoss> losses;
        private final List<RouterLoss> formulas; // the same with a coefficient of 1
        private final List<LayerSums> layers;
        private final boolean oneSequence;

        private Running(List<RouterLoss> losses, int layers) {
            this.losses = losses;
            formulas = losses.stream().map(LayerSums::formula).toList();
            this.layers = LayerSums.of(formulas, layers);
            oneSequence = losses.stream().anyMatch(Running::bySequence);
        }

        private static boolean bySequence(RouterLoss loss) {
            return loss instanceof LoadBalancingLoss balance
                    ? balance.grouping().scope() != Grouping.Scope.BATCH
                    : loss instanceof VariationLoss variation && variation.bySequence();
        }

        /**
         * Adds the next tokens of a layer.
         *
         * @param layer 0 ≤ layer &lt; L
         * @param block read before this returns, and not kept; a token that an error names is counted from the block's first
         * @return this
         * @throws IllegalArgumentException for another number of experts than before, or several sequences where one of the losses
         *     is a mean over sequences
         * @throws ArithmeticException for scores whose sum one cannot divide by; nothing of the block is added then
         */
        public Running add(int layer, RoutedTokens block) {
            Require.inRange("layer", layer, 0, layers.size() - 1, "layers");
            if (oneSequence && TokenGroups.sequences(block).groups() > 1) {
                throw Require.expected(
                        "block",
                        "one sequence, with a loss that is a mean over them",
                        TokenGroups.sequences(block).groups() + " sequences",
                        "evaluate the loss on each, or take one over the batch");
            }
            for (LayerSums other : layers) {
                other.requireLike(block);
            }
            layers.get(layer).add(block);
            return this;
        }

        /**
         * The losses of the tokens so far.
         *
         * @return one value for each loss, in the order in which they were given
         */
        public List<Value> values() {
            LayerSums pooled = LayerSums.of(formulas, 1).get(0);
            layers.forEach(pooled::add);
            List<Value> values = new ArrayList<>();
            for (int i = 0; i < losses.size(); i++) {
                values.add(value(losses.get(i), formulas.get(i), pooled));
            }
            return List.copyOf(values);
        }

        private Value value(RouterLoss loss, RouterLoss formula, LayerSums pooled) {
            List<Double> each =
                    layers.stream().map(layer -> layer.value(formula)).toList();
            double together = pooled.value(formula);
            double sum = each.stream().mapToDouble(Double::doubleValue).sum();
            double value = !(loss instanceof LoadBalancingLoss balance)
                    ? sum
                    : switch (balance.grouping().layers()) {
                        case SUM -> sum;
                        case MEAN -> sum / each.size();
                        case POOLED -> together;
                    };
            return new Value(loss, value, together, each);
        }

        /**
         * What the formula of a loss is worth; its coefficient multiplies none of the components.
         *
         * @param loss as it was given
         * @param value of all layers, as {@link RouterLoss#value} adds them up
         * @param pooled of the tokens of all layers as one group, in which one layer's favourites make up for another's
         * @param perLayer of each layer alone
         */
        public record Value(RouterLoss loss, double value, double pooled, List<Double> perLayer) {
            /**
             * Copies the list.
             *
             * @param loss as it was given
             * @param value of all layers
             * @param pooled of the tokens of all layers as one group
             * @param perLayer of each layer alone
             */
            public Value {
                perLayer = List.copyOf(perLayer);
            }

            /**
             * What it adds to a model's loss.
             *
             * @return {@code coefficient · value}, as {@link RouterLoss#value}
             */
            public double contribution() {
                return loss.coefficient() * value;
            }

            /**
             * Mean over the layers.
             *
             * @return of the values of each alone
             */
            public double meanPerLayer() {
                return perLayer.stream()
                        .mapToDouble(Double::doubleValue)
                        .average()
                        .orElse(0);
            }
        }
    }
}
