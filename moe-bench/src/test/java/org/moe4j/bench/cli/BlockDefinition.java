package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.moe4j.bench.cli.RunFixture.Numbers;
import org.moe4j.checkpoint.safetensors.TensorStore;

/** {@code h + behind(layer(before(h)))} and its gradients, for whatever the layer gives: norms and their derivatives as loops. */
record BlockDefinition(Optional<Norm> before, Optional<Norm> behind) {
    /** {@code y = x · r · w} with {@code r = 1/√(mean x² + ε)}. */
    @SuppressWarnings("ArrayRecordComponent") // test data
    private record Norm(String name, double[] weight, double epsilon) {
        double root(double[] x, int row) {
            double sum = 0;
            for (int j = 0; j < weight.length; j++) {
                sum += x[row * weight.length + j] * x[row * weight.length + j];
            }
            return 1 / Math.sqrt(sum / weight.length + epsilon);
        }

        double[] apply(double[] x) {
            double[] y = new double[x.length];
            for (int i = 0; i < x.length; i++) {
                y[i] = x[i] * root(x, i / weight.length) * weight[i % weight.length];
            }
            return y;
        }

        double[] dWeight(double[] x, double[] dY) {
            double[] sums = new double[weight.length];
            for (int i = 0; i < x.length; i++) {
                sums[i % weight.length] += dY[i] * x[i] * root(x, i / weight.length);
            }
            return sums;
        }

        /** {@code dx_j = r · g_j − r³/D · x_j · Σ g·x} with {@code g = dY · w}. */
        double[] dX(double[] x, double[] dY) {
            int width = weight.length;
            double[] dX = new double[x.length];
            for (int row = 0; row < x.length / width; row++) {
                double r = root(x, row);
                double dot = 0;
                for (int j = 0; j < width; j++) {
                    dot += dY[row * width + j] * weight[j] * x[row * width + j];
                }
                for (int j = 0; j < width; j++) {
                    int i = row * width + j;
                    dX[i] = r * dY[i] * weight[j] - r * r * r / width * x[i] * dot;
                }
            }
            return dX;
        }
    }

    /** Runs the layer without its block. */
    interface Layer {
        Map<String, Numbers> run(Numbers tokens, Numbers dOutput) throws IOException;
    }

    static BlockDefinition of(RunFixture fixture) throws IOException {
        try (TensorStore store = TensorStore.open(fixture.folder())) {
            return new BlockDefinition(norm(fixture, store, "before"), norm(fixture, store, "after"));
        }
    }

    private static Optional<Norm> norm(RunFixture fixture, TensorStore store, String side) throws IOException {
        JsonNode facts = fixture.facts().get("norm");
        if (facts.get(side).isNull()) {
            return Optional.empty();
        }
        String name = facts.get(side).asText();
        double[] weight = new double[(int) store.info(name).elements()];
        store.tensor(name).read(0, weight, 0, weight.length);
        for (int j = 0; j < weight.length; j++) {
            weight[j] += facts.get("weight_plus_one").asBoolean() ? 1 : 0;
        }
        return Optional.of(new Norm(name, weight, facts.get("eps").asDouble()));
    }

    Map<String, Numbers> expected(Numbers hidden, Numbers dOutput, Layer layer) throws IOException {
        double[] h = hidden.values();
        double[] tokens = before.map(norm -> norm.apply(h)).orElse(h);
        double[] ofLayer =
                layer.run(like(hidden, tokens), dOutput).get("output").values();
        double[] dY = dOutput.values();
        double[] dLayer = behind.map(norm -> norm.dX(ofLayer, dY)).orElse(dY);
        Map<String, Numbers> expected = new TreeMap<>(layer.run(like(hidden, tokens), like(hidden, dLayer)));
        double[] dTokens = expected.get("d_hidden_states").values();
        expected.put(
                "output", sum(hidden, behind.map(norm -> norm.apply(ofLayer)).orElse(ofLayer)));
        expected.put(
                "d_hidden_states",
                sum(dOutput, before.map(norm -> norm.dX(h, dTokens)).orElse(dTokens)));
        before.ifPresent(norm -> expected.put("grad." + norm.name(), row(norm.dWeight(h, dTokens))));
        behind.ifPresent(norm -> expected.put("grad." + norm.name(), row(norm.dWeight(ofLayer, dY))));
        return expected;
    }

    private static Numbers like(Numbers other, double[] values) {
        return Numbers.of(other.shape(), values);
    }

    private static Numbers row(double[] values) {
        return Numbers.of(List.of((long) values.length), values);
    }

    private static Numbers sum(Numbers a, double[] b) {
        double[] sum = a.values().clone();
        for (int i = 0; i < b.length; i++) {
            sum[i] += b[i];
        }
        return like(a, sum);
    }
}
