package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKRouter;

/** Balancing without a loss, as a trainer does it: counts of the actual routing move the selection bias of a built layer. */
class BiasBalancingTest {
    private static final int EXPERTS = 16;
    private static final int TOKENS = 512;

    private final Backend backend = ReferenceBackend.instance();
    private final RouterConfig config = RouterConfig.topK(EXPERTS, 2)
            .withScore(new ScoreFunction.Sigmoid())
            .withRenormalization(new Renormalization.Sum())
            .withSelectionBias(true);

    /** Tokens with a mean, which favours the experts whose rows point along it. */
    private Matrix tokens() {
        try (Matrix drawn = Initializer.normal(1).draw(backend, TOKENS, 8, 3)) {
            double[] values = drawn.toArray();
            return backend.matrix(
                    TOKENS, 8, Arrays.stream(values).map(x -> x + 0.7).toArray());
        }
    }

    /** Largest load over the mean load, less 1: 0 is even. */
    private static double violation(int[] counts) {
        double mean = Arrays.stream(counts).average().orElseThrow();
        return Arrays.stream(counts).max().orElseThrow() / mean - 1;
    }

    @Test
    void theSignRuleEvensTheLoadAndLeavesTheWeightsUnbiased() {
        try (Matrix tokens = tokens();
                TopKRouter router = TopKRouter.random(config, 8, backend, 1);
                MoeLayer start =
                        MoeLayer.of(router, SwiGluExperts.random(new ExpertShape(EXPERTS, 8, 4), backend, 2))) {
            MoeLayer layer = start;
            SelectionBias bias = SelectionBias.zeros(EXPERTS);
            double before = violation(
                    router.route(tokens, RoutingContext.plain()).routing().tokensPerExpert());
            for (int step = 0; step < 200; step++) {
                try (MoePass pass = layer.forward(tokens)) {
                    pass.output().close();
                    bias = bias.updated(pass.routing().tokensPerExpert(), 0.005);
                }
                layer = layer.withRouter(router.withSelectionBias(bias));
            }
            try (MoePass pass = layer.forward(tokens)) {
                pass.output().close();
                assertThat(before).as("the start is uneven").isGreaterThan(1);
                assertThat(violation(pass.routing().tokensPerExpert())).isLessThan(before / 4);
                double sum = pass.routing().weight(0, 0) + pass.routing().weight(0, 1);
                assertThat(sum).isCloseTo(1, within(1e-15));
            }
        }
    }

    @Test
    void aRouterThatDoesNotFitIsRefused() {
        try (MoeLayer layer = MoeLayer.of(
                        TopKRouter.random(config, 8, backend, 1),
                        SwiGluExperts.random(new ExpertShape(EXPERTS, 8, 4), backend, 2));
                TopKRouter other = TopKRouter.random(config.withExperts(17), 8, backend, 1)) {
            assertThatThrownBy(() -> layer.withRouter(other))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("router: expected " + EXPERTS);
        }
    }
}
