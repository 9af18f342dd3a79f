package org.moe4j.router;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.IntToDoubleFunction;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/** Each published loss as its source writes it, with a coefficient of 1, on plain arrays; without valid tokens 0. */
final class LossDefinitions {
    private LossDefinitions() {}

    /** E² times the mean over experts of f·P, f of the first choice; the mean over groups. */
    static double switchTransformer(LossLayer layer) {
        return meanOverSequences(layer, true, rows -> firstChoice(layer, rows, rows.length));
    }

    static double meshTensorFlow(LossLayer layer) {
        return meanOverSequences(layer, false, all -> firstChoice(layer, layer.rows(all), all.length));
    }

    static double lingvo(LossLayer layer) {
        return meanOverSequences(layer, false, all -> {
            double nonPadding = (double) layer.rows(all).length / all.length + 1e-6;
            return firstChoice(layer, layer.rows(all), all.length) / (nonPadding * nonPadding);
        });
    }

    private static double firstChoice(LossLayer layer, int[] rows, int length) {
        int experts = layer.experts();
        double sum = 0;
        for (int e = 0; e < experts; e++) {
            double f = 0;
            double p = 0;
            for (int t : rows) {
                f += layer.chosen(t)[0] == e ? 1.0 / length : 0;
                p += layer.scores(t)[e] / length;
            }
            sum += f * p / experts;
        }
        return experts * experts * sum;
    }

    /** E times the sum of f·P, f the share of tokens that have e anywhere; the mean over groups. */
    static double flaxformer(LossLayer layer) {
        return meanOverSequences(layer, false, all -> {
            int[] rows = layer.rows(all); // masks and probabilities of the others are 0, and part of the mean
            double sum = 0;
            for (int e = 0; e < layer.experts(); e++) {
                int expert = e;
                double f = mean(rows, t -> IntStream.of(layer.chosen(t)).anyMatch(i -> i == expert) ? 1 : 0);
                sum += f * mean(rows, t -> layer.scores(t)[expert]);
            }
            double share = (double) rows.length / all.length;
            return layer.experts() * sum * share * share;
        });
    }

    /** Rows of all layers one after the other; one-hot rows of each slot averaged, then multiplied with mean softmax. */
    static double transformers(List<LossLayer> layers) {
        List<double[]> softmax = new ArrayList<>();
        layers.forEach(layer -> Arrays.stream(layer.rows()).forEach(t -> softmax.add(layer.softmax(t))));
        int experts = layers.get(0).experts();
        int topK = layers.get(0).topK();
        double[][] f = new double[topK][experts];
        double[] p = new double[experts];
        for (double[] row : softmax) {
            int[] best = TokenwiseRouting.best(row, topK);
            for (int k = 0; k < topK; k++) {
                f[k][best[k]] += 1.0 / softmax.size();
            }
            for (int e = 0; e < experts; e++) {
                p[e] += row[e] / softmax.size();
            }
        }
        double sum = 0;
        for (double[] slot : f) {
            for (int e = 0; e < experts; e++) {
                sum += slot[e] * p[e];
            }
        }
        return experts * sum;
    }

    /** E/(K·T²) Σ_e c_e Σ_t u_te, counted afresh. */
    static double megatron(LossLayer layer) {
        int[] rows = layer.rows();
        return rows.length == 0 ? 0 : megatron(layer, rows, counts(layer, rows, megatronScores(layer)), rows.length);
    }

    static double megatron(LossLayer layer, int[] rows, double[] counts, double length) {
        double[] sums = sums(layer, rows, megatronScores(layer));
        double sum = 0;
        for (int e = 0; e < counts.length; e++) {
            sum += counts[e] * sums[e];
        }
        return layer.experts() / (layer.topK() * length * length) * sum;
    }

    static IntFunction<double[]> megatronScores(LossLayer layer) {
        return t ->
                layer.config.score() instanceof ScoreFunction.Softmax ? layer.softmax(t) : layer.normalized(t, 1e-20);
    }

    /** Each sequence by the same formula with the mean number of valid tokens as T, divided by the number of sequences. */
    static double megatronSequence(LossLayer layer) {
        List<int[]> sequences = layer.sequences();
        double length = (double) layer.rows().length / sequences.size();
        double sum = 0;
        for (int[] all : sequences) {
            int[] rows = layer.rows(all);
            sum += rows.length == 0 ? 0 : megatron(layer, rows, counts(layer, rows, megatronScores(layer)), length);
        }
        return layer.rows().length == 0 ? 0 : sum / sequences.size();
    }

    /** (E/K) Σ_e c_e P_e / T with the routing's counts. */
    static double olmoCore(LossLayer layer) {
        int[] rows = layer.rows();
        double[] counts = counts(layer, rows);
        double sum = 0;
        for (int e = 0; e < layer.experts(); e++) {
            int expert = e;
            sum += counts[e] * mean(rows, t -> layer.normalized(t, 0)[expert]);
        }
        return rows.length == 0 ? 0 : (double) layer.experts() / layer.topK() * sum / rows.length;
    }

    /** (E/K) Σ_b Σ_e (mean score of sequence b)·(count in sequence b) / all tokens. */
    static double olmoCoreInstance(LossLayer layer) {
        double sum = 0;
        for (int[] all : layer.sequences()) {
            int[] rows = layer.rows(all);
            double[] counts = counts(layer, rows);
            for (int e = 0; e < layer.experts(); e++) {
                int expert = e;
                sum += counts[e] * mean(rows, t -> layer.normalized(t, 0)[expert]);
            }
        }
        int tokens = layer.rows().length;
        return tokens == 0 ? 0 : (double) layer.experts() / layer.topK() * sum / tokens;
    }

    /** E/(L·T·K) times the product of all layers' counts with all layers' mean scores. */
    static double megaBlocks(List<LossLayer> layers) {
        double product = 0;
        for (LossLayer layer : layers) {
            double[] counts = counts(layer, layer.rows());
            for (int e = 0; e < layer.experts(); e++) {
                int expert = e;
                product += counts[e] * mean(layer.rows(), t -> layer.scores(t)[expert]);
            }
        }
        LossLayer any = layers.get(0);
        double tokens = Math.max(1, any.rows().length);
        return any.experts() * product / (layers.size() * tokens * any.topK());
    }

    /** Σ_e (share of all assignments · E) · (mean score). */
    static double deepSeekBatch(LossLayer layer) {
        int[] rows = layer.rows();
        double[] counts = counts(layer, rows);
        double sum = 0;
        for (int e = 0; e < layer.experts() && rows.length > 0; e++) {
            int expert = e;
            double share = counts[e] / (rows.length * layer.topK());
            sum += share * layer.experts() * mean(rows, t -> layer.scores(t)[expert]);
        }
        return sum;
    }

    static double deepSeekSequence(LossLayer layer) {
        return meanOverSequences(layer, true, rows -> {
            double[] counts = counts(layer, rows);
            double sum = 0;
            for (int e = 0; e < layer.experts(); e++) {
                int expert = e;
                sum += counts[e]
                        * layer.experts()
                        / (rows.length * layer.topK())
                        * mean(rows, t -> layer.scores(t)[expert]);
            }
            return sum;
        });
    }

    /** Σ_e f_e P_e per sequence with f_e = E/(K·T)·count of the K best scores, P_e = mean of scores divided by their sum. */
    static double deepSeekV3(LossLayer layer) {
        return meanOverSequences(layer, true, rows -> {
            double[] counts = counts(layer, rows, layer::scores);
            double sum = 0;
            for (int e = 0; e < layer.experts(); e++) {
                int expert = e;
                double f = (double) layer.experts() / (layer.topK() * rows.length) * counts[e];
                sum += f * mean(rows, t -> layer.normalized(t, 0)[expert]);
            }
            return sum;
        });
    }

    static double zLoss(LossLayer layer) {
        return mean(layer.rows(), t -> {
            double sum = Arrays.stream(layer.logits[t]).map(StrictMath::exp).sum();
            return StrictMath.pow(StrictMath.log(sum), 2);
        });
    }

    /** CV² of the summed weights: E[q²]/E[q]² − 1 but for the epsilon. */
    static double shazeerImportance(LossLayer layer) {
        return variation(sums(layer, layer.rows(), layer::weights), 1e-10);
    }

    static double vMoeImportance(LossLayer layer) {
        return meanOverSequences(layer, true, rows -> variation(sums(layer, rows, layer::softmax), 0));
    }

    /** Hard counts: what the load is without noise. */
    static double shazeerLoad(LossLayer layer) {
        return variation(counts(layer, layer.rows()), 1e-10);
    }

    static double vMoeLoad(LossLayer layer) {
        return meanOverSequences(layer, true, rows -> variation(counts(layer, rows), 0));
    }

    static double variation(double[] q, double epsilon) {
        double mean = Arrays.stream(q).average().orElseThrow();
        double variance =
                Arrays.stream(q).map(v -> (v - mean) * (v - mean)).average().orElseThrow();
        return mean == 0 ? 0 : variance / (mean * mean + epsilon);
    }

    private static double meanOverSequences(LossLayer layer, boolean validOnly, ToDoubleFunction<int[]> each) {
        return layer.sequences().stream()
                .map(all -> validOnly ? layer.rows(all) : all)
                .filter(rows -> rows.length > 0)
                .mapToDouble(each)
                .average()
                .orElse(0);
    }

    private static double mean(int[] rows, IntToDoubleFunction number) {
        return Arrays.stream(rows).mapToDouble(number).average().orElse(0);
    }

    static double[] sums(LossLayer layer, int[] rows, IntFunction<double[]> row) {
        double[] sums = new double[layer.experts()];
        for (int t : rows) {
            for (int e = 0; e < sums.length; e++) {
                sums[e] += row.apply(t)[e];
            }
        }
        return sums;
    }

    /** How often each expert was really chosen. */
    static double[] counts(LossLayer layer, int[] rows) {
        double[] counts = new double[layer.experts()];
        for (int t : rows) {
            for (int e : layer.chosen(t)) {
                counts[e]++;
            }
        }
        return counts;
    }

    /** How often each expert is among the K best of some scores. */
    static double[] counts(LossLayer layer, int[] rows, IntFunction<double[]> scores) {
        double[] counts = new double[layer.experts()];
        for (int t : rows) {
            for (int e : TokenwiseRouting.best(scores.apply(t), layer.topK())) {
                counts[e]++;
            }
        }
        return counts;
    }
}
