package org.moe4j.bench.study.mergescale;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

final class FrozenRouterTest {
    private static final int TOKENS = 5;
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final TopKRouter ROUTER =
            TopKRouter.random(RouterConfig.topK(7, 3).withRenormalization(new Renormalization.Sum()), 4, BACKEND, 1);
    private static final Matrix INPUT = Initializer.normal(1).draw(BACKEND, TOKENS, 4, 2);
    private static final Routing ORIGINAL =
            ROUTER.route(INPUT, RoutingContext.plain()).routing();

    @AfterAll
    static void close() {
        INPUT.close();
        ROUTER.close();
    }

    @Test
    void detachedRoutesAlikeAndLetsNoGradientThrough() {
        FrozenRouter router = FrozenRouter.detached(ROUTER);
        assertThat(router.unitSum()).isTrue();
        assertThat(router.scale()).isEqualTo(1);
        RouterPass pass = router.route(INPUT, RoutingContext.plain());
        for (int t = 0; t < TOKENS; t++) {
            for (int rank = 0; rank < 3; rank++) {
                assertThat(pass.routing().expert(t, rank)).isEqualTo(ORIGINAL.expert(t, rank));
                assertThat(pass.routing().weight(t, rank)).isEqualTo(ORIGINAL.weight(t, rank));
            }
        }
        try (Gradients gradients = pass.backward(new double[TOKENS * 3], new double[0])) {
            assertThat(gradients.input().toArray()).hasSize(TOKENS * 4).containsOnly(0);
            assertThat(gradients.parameters().names()).isEmpty();
        }
        assertThat(pass.auxiliaryLoss()).isZero();
        assertThat(router.parameters().names()).isEmpty();
        assertThat(router.withParameters(Parameters.none())).isSameAs(router);
    }

    @Test
    void unitCoefficientsKeepTheExperts() {
        FrozenRouter router = FrozenRouter.unitCoefficients(ROUTER);
        assertThat(router.unitSum()).isFalse();
        Routing routing = router.route(INPUT, RoutingContext.plain()).routing();
        for (int t = 0; t < TOKENS; t++) {
            for (int rank = 0; rank < 3; rank++) {
                assertThat(routing.expert(t, rank)).isEqualTo(ORIGINAL.expert(t, rank));
                assertThat(routing.weight(t, rank)).isEqualTo(1);
            }
        }
    }

    @Test
    void byRankKeepsTheWeights() {
        FrozenRouter router = FrozenRouter.byRank(ROUTER);
        assertThat(router.experts()).isEqualTo(3);
        assertThat(router.topK()).isEqualTo(3);
        Routing routing = router.route(INPUT, RoutingContext.plain()).routing();
        assertThat(routing.experts()).isEqualTo(3);
        for (int t = 0; t < TOKENS; t++) {
            for (int rank = 0; rank < 3; rank++) {
                assertThat(routing.expert(t, rank)).isEqualTo(rank);
                assertThat(routing.weight(t, rank)).isEqualTo(ORIGINAL.weight(t, rank));
            }
        }
    }
}
