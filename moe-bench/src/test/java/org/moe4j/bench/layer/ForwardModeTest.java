package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.vector.VectorBackend;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;
import org.moe4j.router.loss.LoadBalancingLoss;
import org.moe4j.router.loss.ZLoss;

/**
 * Gradients of shapes too large for differences: {@code ⟨v, Ju⟩ = ⟨Jᵀv, u⟩}. Ju is {@link Tangents}, the derivative in a direction by
 * its definition, number after number; a difference of outputs would not have the digits. Jᵀv is the library's backward.
 */
class ForwardModeTest {
    private static final int TOKENS = 24;
    private static final int HIDDEN = 320;
    private static final int WIDTH = 448;
    private static final int EXPERTS = 8;
    private static final int TOP_K = 3;
    private static final double BALANCE = 0.7;
    private static final double Z = 0.3;
    private static final double WITHIN = 1e-12;

    private final Map<String, Numbers> values = new TreeMap<>();
    private final Map<String, Numbers> directions = new TreeMap<>();

    private void draw(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        number(random, "tokens", TOKENS, HIDDEN, 1);
        number(random, "router.weight", EXPERTS, HIDDEN, 1 / Math.sqrt(HIDDEN));
        List<String> experts = new ArrayList<>(List.of("shared.0"));
        for (int e = 0; e < EXPERTS; e++) {
            experts.add("experts." + e);
        }
        for (String expert : experts) {
            number(random, expert + ".gate", WIDTH, HIDDEN, 1 / Math.sqrt(HIDDEN));
            number(random, expert + ".up", WIDTH, HIDDEN, 1 / Math.sqrt(HIDDEN));
            number(random, expert + ".down", HIDDEN, WIDTH, 1 / Math.sqrt(WIDTH));
        }
    }

    private void number(SplittableRandom random, String name, int rows, int columns, double deviation) {
        values.put(name, normal(random, rows, columns, deviation));
        directions.put(name, normal(random, rows, columns, deviation));
    }

    /** With all the digits of a double. */
    private static Numbers normal(SplittableRandom random, int rows, int columns, double deviation) {
        double[] values = new double[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = deviation * random.nextGaussian();
        }
        return new Numbers(rows, columns, values);
    }

    private SwiGluWeights expert(String name, Backend backend) {
        return new SwiGluWeights(
                values.get(name + ".gate").on(backend),
                values.get(name + ".up").on(backend),
                values.get(name + ".down").on(backend));
    }

    private MoeLayer layer(Backend backend) {
        TopKRouter router = TopKRouter.of(
                        RouterConfig.topK(EXPERTS, TOP_K),
                        values.get("router.weight").on(backend))
                .withLosses(LoadBalancingLoss.switchTransformer(BALANCE), new ZLoss(Z));
        List<SwiGluWeights> experts = new ArrayList<>();
        for (int e = 0; e < EXPERTS; e++) {
            experts.add(expert("experts." + e, backend));
        }
        return MoeLayer.of(router, SwiGluExperts.of(experts))
                .withShared(SharedBranch.of(
                        SwiGluExperts.of(List.of(expert("shared.0", backend))), ScaledMerge.scaled(1.25, 0.5)));
    }

    @Test
    void backwardIsTheAdjointOfTheDerivativeInADirection() {
        double worst = 0;
        List<Backend> backends = List.of(
                ReferenceBackend.instance(),
                VectorBackend.float64(),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT64, Nd4jBackend.Strategy.HOST));
        draw(1);
        Numbers v = normal(new SplittableRandom(2), TOKENS, HIDDEN, 1);
        for (Backend backend : backends) {
            try (MoeLayer layer = layer(backend);
                    Matrix tokens = values.get("tokens").on(backend);
                    Matrix dOutput = v.on(backend);
                    MoePass pass = layer.forward(tokens);
                    Gradients gradients = pass.backward(dOutput)) {
                pass.output().close();
                int[][] selected = new int[TOKENS][TOP_K];
                for (int t = 0; t < TOKENS; t++) {
                    for (int rank = 0; rank < TOP_K; rank++) {
                        selected[t][rank] = pass.routing().expert(t, rank);
                    }
                }
                Tangents tangents = new Tangents(values, directions, selected);
                Sum forward = new Sum();
                double[] ju = tangents.output(1.25, 0.5);
                for (int i = 0; i < ju.length; i++) {
                    forward.add(v.values()[i] * ju[i]);
                }
                forward.add(BALANCE * tangents.balance());
                forward.add(Z * tangents.zLoss());
                Sum backward = new Sum();
                directions.forEach((name, u) -> {
                    Matrix g = name.equals("tokens")
                            ? gradients.input()
                            : gradients.parameters().get(name);
                    double[] array = g.toArray();
                    for (int i = 0; i < array.length; i++) {
                        backward.add(array[i] * u.values()[i]);
                    }
                });
                double error = Math.abs(forward.value - backward.value)
                        / Math.max(Math.abs(forward.value), Math.abs(backward.value));
                assertThat(error)
                        .as("%s: %s and %s", backend, forward.value, backward.value)
                        .isLessThanOrEqualTo(WITHIN);
                worst = Math.max(worst, error);
            }
        }
        Promise.measured(
                6,
                "adjoint of large shapes",
                String.format(
                        Locale.ROOT,
                        "|<v, Ju> - <J'v, u>| at most %.1e of the value; D %d, F %d, E %d, with losses, 3 backends",
                        worst,
                        HIDDEN,
                        WIDTH,
                        EXPERTS));
    }

    /** A compensated sum. */
    private static final class Sum {
        double value;
        private double rest;

        void add(double term) {
            double y = term - rest;
            double next = value + y;
            rest = (next - value) - y;
            value = next;
        }
    }
}
