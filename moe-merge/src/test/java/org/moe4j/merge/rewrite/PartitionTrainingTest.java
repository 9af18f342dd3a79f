package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.moe4j.merge.rewrite.DrawnParts.BACKEND;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.testing.Tolerance;

/** Training one wide expert, going on with its parts, and putting them together again, with Adam and decoupled decay. */
class PartitionTrainingTest {
    private static final double RATE = 0.01;
    private static final double DECAY = 0.1;
    private static final int STEPS = 5;

    /** Weights and what Adam keeps of each. */
    private record State(Parameters weights, Parameters first, Parameters second) {
        static State fresh(Parameters weights) {
            Parameters zeros = weights.map((name, matrix) -> BACKEND.buffer(matrix.rows(), matrix.columns()));
            return new State(weights, zeros, zeros);
        }

        /** Step number {@code time}; {@code parts} is what the rate of the down bias is divided by. */
        State step(int time, int parts, Parameters gradients) {
            Map<String, Matrix> weight = new LinkedHashMap<>();
            Map<String, Matrix> m = new LinkedHashMap<>();
            Map<String, Matrix> v = new LinkedHashMap<>();
            for (String name : weights.names()) {
                int share = name.equals("downBias") ? parts : 1;
                double[] g = gradients.get(name).toArray();
                double[] w = weights.get(name).toArray();
                double[] mean = first.get(name).toArray();
                double[] square = second.get(name).toArray();
                for (int i = 0; i < g.length; i++) {
                    mean[i] = 0.9 * mean[i] + 0.1 * g[i];
                    square[i] = 0.99 * square[i] + 0.01 * g[i] * g[i];
                    double direction = mean[i]
                            / (1 - Math.pow(0.9, time))
                            / (Math.sqrt(square[i] / (1 - Math.pow(0.99, time))) + 1e-3);
                    w[i] = (1 - RATE / share * (DECAY * share)) * w[i] - RATE / share * direction;
                }
                weight.put(name, like(weights.get(name), w));
                m.put(name, like(weights.get(name), mean));
                v.put(name, like(weights.get(name), square));
            }
            return new State(Parameters.of(weight), Parameters.of(m), Parameters.of(v));
        }

        private static Matrix like(Matrix shape, double[] values) {
            return BACKEND.matrix(shape.rows(), shape.columns(), values);
        }
    }

    /** Half the squared distance of the sum from a target has the gradient {@code y − target}. */
    private static List<State> trained(DrawnParts drawn, List<State> states, int from, int biasShare) {
        List<State> now = states;
        for (int time = from; time < from + STEPS; time++) {
            double[] y = DrawnParts.sum(
                    now.stream().map(state -> drawn.output(state.weights)).toList());
            Matrix output = BACKEND.matrix(drawn.tokens().rows(), drawn.tokens().columns(), y);
            Matrix dOutput = BACKEND.linearCombination(1, output, -1, drawn.dOutput());
            List<State> next = new ArrayList<>();
            for (State state : now) {
                next.add(state.step(
                        time, biasShare, drawn.gradients(state.weights, dOutput).parameters()));
            }
            now = next;
        }
        return now;
    }

    private static List<State> split(Partition partition, State wide) {
        List<Parameters> weights = partition.split(wide.weights);
        List<Parameters> first = partition.splitGradients(wide.first);
        List<Parameters> second = partition.splitGradients(wide.second);
        List<State> parts = new ArrayList<>();
        for (int j = 0; j < weights.size(); j++) {
            parts.add(new State(weights.get(j), first.get(j), second.get(j)));
        }
        return parts;
    }

    private static State concatenated(Partition partition, List<State> parts) {
        return new State(
                partition.concatenate(parts.stream().map(State::weights).toList()),
                partition.concatenateGradients(parts.stream().map(State::first).toList()),
                partition.concatenateGradients(parts.stream().map(State::second).toList()));
    }

    static LongStream severalWithBiases() {
        return LongStream.range(0, 200).filter(seed -> {
            DrawnParts drawn = DrawnParts.of(seed);
            return drawn.biases() && drawn.experts().size() > 1;
        });
    }

    @ParameterizedTest
    @MethodSource("severalWithBiases")
    void bothFormsTrainAlikeWhenTheRateOfDownBiasesIsDivided(long seed) {
        DrawnParts drawn = DrawnParts.of(seed);
        Partition partition = drawn.partition();
        int n = drawn.experts().size();
        State start = State.fresh(partition.concatenate(drawn.experts()));
        State half = trained(drawn, List.of(start), 1, 1).get(0);
        State one = trained(drawn, trained(drawn, List.of(half), 1 + STEPS, 1), 1 + 2 * STEPS, 1)
                .get(0);
        List<State> parts = trained(drawn, split(partition, half), 1 + STEPS, n);
        State again = concatenated(partition, parts);
        State other = trained(drawn, List.of(again), 1 + 2 * STEPS, 1).get(0);
        for (String name : one.weights.names()) {
            // a step passes on rate/ε = 10 times the rounding of a gradient, a few u, at most: 1e-13 is 900 u
            Tolerance.assertWithinMaxNorm(
                    "seed " + seed + " " + name,
                    other.weights.get(name).toArray(),
                    one.weights.get(name).toArray(),
                    1e-13);
        }
        State undivided = concatenated(partition, trained(drawn, split(partition, half), 1 + STEPS, 1));
        double[] moved = undivided.weights.get("downBias").toArray();
        double[] expected = again.weights.get("downBias").toArray();
        assertThat(Tolerance.distance(moved, expected)).as("seed %d", seed).isGreaterThan(RATE / 10);
    }
}
