package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.vector.VectorBackend;
import org.moe4j.router.Renormalization;
import org.moe4j.router.Renormalization.EpsilonPlace;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** Experts that give back what they are given: dispatch and combine with weights that add up to 1 are the identity. */
class IdentityExpertsTest {
    private static List<Backend> backends() {
        return List.of(
                ReferenceBackend.instance(),
                VectorBackend.float32(),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.HOST));
    }

    @Test
    void combineGivesBackWhatWasDispatched() {
        check(2_000);
    }

    @Test
    @Tag("soak")
    void combineGivesBackWhatWasDispatchedManyTimes() {
        check(10_000);
    }

    private static void check(int cases) {
        double worst = 0;
        for (long seed = 0; seed < cases; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Backend backend = backends().get((int) (seed % backends().size()));
            int experts = random.nextInt(1, 17);
            int topK = random.nextInt(1, experts + 1);
            int hidden = random.nextInt(1, 13);
            RouterConfig config = RouterConfig.topK(experts, topK)
                    .withRenormalization(new Renormalization.Sum(0, EpsilonPlace.IN_SUM));
            Numbers x = LayerDraw.normal(random, random.nextInt(9), hidden, 1);
            try (Matrix tokens = x.on(backend);
                    Matrix weight = LayerDraw.normal(random, experts, hidden, 1).on(backend);
                    TopKRouter router = TopKRouter.of(config, weight)) {
                Routing routing = router.routing(tokens, RoutingContext.plain());
                DispatchPlan plan = DispatchPlan.of(routing, Capacity.dropless());
                try (Matrix rows = plan.dispatch(tokens);
                        Matrix back = plan.combine(rows)) {
                    double[] y = back.toArray();
                    for (int i = 0; i < y.length; i++) {
                        double size = Math.abs(x.values()[i]);
                        double error = Math.abs(y[i] - x.values()[i]);
                        double allowed = 2 * topK * backend.unitRoundoff() * size;
                        assertThat(error)
                                .as("seed %d, element %d on %s", seed, i, backend)
                                .isLessThanOrEqualTo(allowed);
                        worst = error == 0 ? worst : Math.max(worst, error / allowed);
                    }
                }
            }
        }
        Promise.measured(
                10,
                "identity experts",
                String.format(Locale.ROOT, "worst %.2f of 2 K u |x|; %,d cases, 3 backends", worst, cases));
    }
}
