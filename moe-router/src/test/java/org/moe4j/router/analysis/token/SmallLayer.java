package org.moe4j.router.analysis.token;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.Router;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** The numbers of a small layer of SwiGLU experts, and what loops make of them. */
final class SmallLayer {
    static final ReferenceBackend BACKEND = ReferenceBackend.instance();

    final int experts;
    final int width;
    final int inner;
    final double[] router; // E×D
    final double[][] gate; // F×D each
    final double[][] up;
    final double[][] down; // D×F each

    SmallLayer(int experts, int width, int inner, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        this.experts = experts;
        this.width = width;
        this.inner = inner;
        router = random.doubles((long) experts * width, -1, 1).toArray();
        gate = numbers(random, experts, inner * width);
        up = numbers(random, experts, inner * width);
        down = numbers(random, experts, inner * width);
    }

    private static double[][] numbers(SplittableRandom random, int rows, int columns) {
        double[][] numbers = new double[rows][];
        for (int r = 0; r < rows; r++) {
            numbers[r] = random.doubles(columns, -1, 1).toArray();
        }
        return numbers;
    }

    SwiGluExperts bank() {
        return bank(IntStream.range(0, experts).toArray());
    }

    /** Some of the experts. */
    SwiGluExperts bank(int... indices) {
        List<SwiGluWeights> weights = new ArrayList<>();
        for (int e : indices) {
            weights.add(new SwiGluWeights(
                    BACKEND.matrix(inner, width, gate[e]),
                    BACKEND.matrix(inner, width, up[e]),
                    BACKEND.matrix(width, inner, down[e])));
        }
        return SwiGluExperts.of(weights);
    }

    MoeLayer layer(RouterConfig config) {
        return MoeLayer.of(TopKRouter.of(config, BACKEND.matrix(experts, width, router)), bank());
    }

    double[] logits(double[] weight, double[] x) {
        double[] logits = new double[experts];
        for (int e = 0; e < experts; e++) {
            for (int i = 0; i < x.length; i++) {
                logits[e] += weight[e * x.length + i] * x[i];
            }
        }
        return logits;
    }

    static double[] softmax(double[] logits) {
        double[] p = Arrays.stream(logits).map(Math::exp).toArray();
        double sum = Arrays.stream(p).sum();
        return Arrays.stream(p).map(v -> v / sum).toArray();
    }

    /** The K largest, best first. */
    static int[] best(double[] numbers, int topK) {
        return IntStream.range(0, numbers.length)
                .boxed()
                .sorted((a, b) -> Double.compare(numbers[b], numbers[a]))
                .limit(topK)
                .mapToInt(Integer::intValue)
                .toArray();
    }

    /** {@code W_down (SiLU(W_gate x) ⊙ W_up x)}. */
    double[] expert(int e, double[] x) {
        double[] y = new double[width];
        for (int f = 0; f < inner; f++) {
            double u = 0;
            double v = 0;
            for (int i = 0; i < width; i++) {
                u += gate[e][f * width + i] * x[i];
                v += up[e][f * width + i] * x[i];
            }
            double h = u / (1 + Math.exp(-u)) * v;
            for (int i = 0; i < width; i++) {
                y[i] += down[e][i * inner + f] * h;
            }
        }
        return y;
    }

    static double length(double[] row) {
        return Math.sqrt(Arrays.stream(row).map(v -> v * v).sum());
    }

    /** {@code routed · R + shared · g_0}. */
    record FixedMerge(double routed, double shared) implements OutputMerge {
        @Override
        public MergePass merge(Matrix tokens, Matrix routedOutput, List<Matrix> outputs) {
            double[] sum = routedOutput.toArray();
            double[] more = outputs.get(0).toArray();
            for (int i = 0; i < sum.length; i++) {
                sum[i] = routed * sum[i] + shared * more[i];
            }
            return new Pass(this, BACKEND.matrix(tokens.rows(), tokens.columns(), sum));
        }

        @Override
        public void requireFits(Router router, Experts experts, List<Experts> shared) {}

        @Override
        public Parameters parameters() {
            return Parameters.none();
        }

        @Override
        public OutputMerge withParameters(Parameters parameters) {
            return this;
        }

        private record Pass(FixedMerge merge, Matrix output) implements MergePass {
            @Override
            public BranchGradients backward(Matrix dOutput) {
                double[] d = dOutput.toArray();
                return new BranchGradients(
                        times(d, merge.routed), List.of(times(d, merge.shared)), Optional.empty(), Parameters.none());
            }

            private Matrix times(double[] numbers, double factor) {
                return BACKEND.matrix(
                        output.rows(),
                        output.columns(),
                        Arrays.stream(numbers).map(v -> v * factor).toArray());
            }

            @Override
            public double routedFactor(int token) {
                return merge.routed;
            }

            @Override
            public double sharedFactor(int token, int branch) {
                return merge.shared;
            }
        }
    }
}
