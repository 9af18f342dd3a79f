package org.moe4j.router;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.reference.ReferenceBackend;

/** The numbers of one layer for definitions of losses, which share no code with the library; and the library's pass of the same layer. */
final class LossLayer {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();

    final RouterConfig config;
    final double[] bias;
    final double[][] logits;
    final boolean[] valid;
    final List<Integer> lengths;

    LossLayer(RouterConfig config, double[] bias, double[][] logits, boolean[] valid, List<Integer> lengths) {
        this.config = config;
        this.bias = bias;
        this.logits = logits;
        this.valid = valid;
        this.lengths = lengths;
    }

    /** All rows valid, one sequence. */
    static LossLayer plain(RouterConfig config, double[]... logits) {
        boolean[] valid = new boolean[logits.length];
        Arrays.fill(valid, true);
        return new LossLayer(config, new double[config.experts()], logits, valid, List.of());
    }

    LossLayer withLengths(Integer... others) {
        return new LossLayer(config, bias, logits, valid, List.of(others));
    }

    LossLayer withValid(boolean... others) {
        return new LossLayer(config, bias, logits, others, lengths);
    }

    LossLayer withBias(double... other) {
        return new LossLayer(config.withSelectionBias(true), other, logits, valid, lengths);
    }

    LossLayer withConfig(RouterConfig other) {
        return new LossLayer(other, bias, logits, valid, lengths);
    }

    LossLayer withLogits(double[] flat) {
        double[][] rows = new double[logits.length][];
        for (int t = 0; t < rows.length; t++) {
            rows[t] = Arrays.copyOfRange(flat, t * experts(), (t + 1) * experts());
        }
        return new LossLayer(config, bias, rows, valid, lengths);
    }

    double[] flat() {
        return Arrays.stream(logits).flatMapToDouble(Arrays::stream).toArray();
    }

    int experts() {
        return config.experts();
    }

    int topK() {
        return config.topK();
    }

    double[] softmax(int t) {
        return TokenwiseRouting.softmax(logits[t]);
    }

    double[] scores(int t) {
        return TokenwiseRouting.scores(config.score(), logits[t]);
    }

    /** Scores divided by their sum and an epsilon. */
    double[] normalized(int t, double epsilon) {
        double[] scores = scores(t);
        double sum = Arrays.stream(scores).sum() + epsilon;
        return Arrays.stream(scores).map(s -> s / sum).toArray();
    }

    /** The experts that are really chosen. */
    int[] chosen(int t) {
        double[] choice = config.renormalization().ofLogits() ? logits[t].clone() : scores(t);
        for (int e = 0; e < choice.length && config.selectionBias(); e++) {
            choice[e] += bias[e];
        }
        return TokenwiseRouting.best(TokenwiseRouting.restricted(config.selection(), choice, topK()), topK());
    }

    /** What multiplies the experts that are really chosen, as E numbers. */
    double[] weights(int t) {
        int[] chosen = chosen(t);
        double[] selected = TokenwiseRouting.weights(config.renormalization(), logits[t], scores(t), chosen);
        double[] weights = new double[experts()];
        for (int rank = 0; rank < chosen.length; rank++) {
            weights[chosen[rank]] = config.scale() * selected[rank];
        }
        return weights;
    }

    /** All rows that count. */
    int[] rows() {
        return IntStream.range(0, valid.length).filter(t -> valid[t]).toArray();
    }

    int[] rows(int[] sequence) {
        return Arrays.stream(sequence).filter(t -> valid[t]).toArray();
    }

    /** The rows of each sequence that has any, padded ones too. */
    List<int[]> sequences() {
        List<Integer> all = lengths.isEmpty() ? List.of(logits.length) : lengths;
        int[] ends = all.stream().mapToInt(Integer::intValue).toArray();
        Arrays.parallelPrefix(ends, Integer::sum);
        return IntStream.range(0, ends.length)
                .filter(s -> all.get(s) > 0)
                .mapToObj(s -> IntStream.range(ends[s] - all.get(s), ends[s]).toArray())
                .collect(Collectors.toList());
    }

    RoutingContext context() {
        return new RoutingContext(Optional.of(RowMask.of(valid)), lengths, OptionalLong.empty());
    }

    /** The library's pass: the tokens are the logits and the weight is the identity. */
    TopKPass pass() {
        double[] identity = new double[experts() * experts()];
        for (int e = 0; e < experts(); e++) {
            identity[e * experts() + e] = 1;
        }
        TopKRouter router = TopKRouter.of(config, BACKEND.matrix(experts(), experts(), identity));
        router = config.selectionBias() ? router.withSelectionBias(SelectionBias.of(bias)) : router;
        return router.route(BACKEND.matrix(logits.length, experts(), flat()), context());
    }

    /** All choices that a loss could count, to see whether a step changes one. */
    String choices() {
        return IntStream.range(0, logits.length)
                .mapToObj(t -> Arrays.toString(chosen(t))
                        + Arrays.toString(TokenwiseRouting.best(logits[t], Math.min(topK() + 1, experts()))))
                .collect(Collectors.joining());
    }

    @Override
    public String toString() {
        return config + " bias " + Arrays.toString(bias) + " logits " + Arrays.deepToString(logits) + " valid "
                + Arrays.toString(valid) + " lengths " + lengths;
    }
}
