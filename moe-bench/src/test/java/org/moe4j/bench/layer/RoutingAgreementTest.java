package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.vector.VectorBackend;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/**
 * Routers in single precision take the experts that logits in double name, wherever rank K and rank K + 1 are further apart than
 * {@code 4·√D·u·Σ|x||w|}, the largest sum of the token. Within that gap they may differ: how often is counted.
 */
class RoutingAgreementTest {
    private static final int HIDDEN = 64;
    private static final int EXPERTS = 64;
    private static final int TOP_K = 7; // odd: rank K and K + 1 may be twins
    private static final int BLOCK = 2_000;
    private static final double U = 0x1p-24;

    private long rows; // on every backend
    private long inside;
    private long differing;

    private static List<Backend> backends() {
        return List.of(
                VectorBackend.float32(), Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.HOST));
    }

    /** Rows of the router; of every two one is the other with its last bits changed, when ties are wanted. */
    private static Numbers weights(SplittableRandom random, boolean ties) {
        Numbers weights = LayerDraw.normal(random, EXPERTS, HIDDEN, 1 / Math.sqrt(HIDDEN));
        double[] values = weights.values();
        for (int e = 1; ties && e < EXPERTS; e += 2) {
            for (int d = 0; d < HIDDEN; d++) {
                double twin = values[(e - 1) * HIDDEN + d];
                values[e * HIDDEN + d] = (float) (twin * (1 + random.nextInt(-8, 9) * 0x1p-23));
            }
        }
        return weights;
    }

    private void compare(long blocks, boolean ties) {
        for (long seed = 0; seed < blocks; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Numbers w = weights(random, ties);
            Numbers x = LayerDraw.normal(random, BLOCK, HIDDEN, 1);
            double[] sizes = Arrays.stream(w.values()).map(Math::abs).toArray();
            double[][] logits = new double[BLOCK][];
            double[] gaps = new double[BLOCK];
            for (int t = 0; t < BLOCK; t++) {
                double[] token = Plain.row(x, t);
                logits[t] = Plain.products(w, token);
                double[] gauge = Plain.products(
                        new Numbers(EXPERTS, HIDDEN, sizes),
                        Arrays.stream(token).map(Math::abs).toArray());
                gaps[t] = 4 * Math.sqrt(HIDDEN) * U * Arrays.stream(gauge).max().orElseThrow();
            }
            for (Backend backend : backends()) {
                try (Matrix weight = w.on(backend);
                        Matrix tokens = x.on(backend);
                        TopKRouter router = TopKRouter.of(RouterConfig.topK(EXPERTS, TOP_K), weight)) {
                    Routing routing = router.routing(tokens, RoutingContext.plain());
                    for (int t = 0; t < BLOCK; t++) {
                        count(logits[t], gaps[t], routing, t);
                    }
                }
            }
        }
    }

    private void count(double[] logits, double enough, Routing routing, int token) {
        double[] sorted = logits.clone();
        Arrays.sort(sorted);
        double gap = sorted[EXPERTS - TOP_K] - sorted[EXPERTS - TOP_K - 1];
        boolean same = true;
        for (int rank = 0; rank < TOP_K; rank++) {
            same &= logits[routing.expert(token, rank)] >= sorted[EXPERTS - TOP_K];
        }
        rows++;
        inside += gap <= enough ? 1 : 0;
        differing += same ? 0 : 1;
        assertThat(same || gap <= enough)
                .as("gap %s of %s, logits %s", gap, enough, Arrays.toString(logits))
                .isTrue();
    }

    private void keep(String what) {
        Promise.measured(
                3,
                what,
                String.format(
                        Locale.ROOT,
                        "0 of %,d rows on each of %d backends differ outside the gap; %.4f %% lie inside, %.4f %% differ; D %d, E %d, K %d",
                        rows / backends().size(),
                        backends().size(),
                        100.0 * inside / rows,
                        100.0 * differing / rows,
                        HIDDEN,
                        EXPERTS,
                        TOP_K));
    }

    @Test
    void outsideTheGapRoutersAgree() {
        compare(25, false);
        keep("random routers");
    }

    @Test
    void nearTiesAreWhereRoutersDiffer() {
        compare(5, true);
        assertThat(inside).as("rows near a tie").isGreaterThan(rows / 100);
        keep("routers of near twins");
    }

    @Test
    @Tag("soak")
    void aMillionRows() {
        compare(500, false);
        keep("random routers, soak");
    }

    @Test
    @Tag("soak")
    void aMillionRowsOfNearTwins() {
        compare(500, true);
        keep("routers of near twins, soak");
    }
}
