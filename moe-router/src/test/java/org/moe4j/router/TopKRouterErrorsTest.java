package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.RowMask;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.standin.ForeignMatrix;

class TopKRouterErrorsTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();

    @ParameterizedTest
    @ValueSource(doubles = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY})
    void aLogitThatIsNotFiniteIsNamed(double bad) {
        double[] logits = new double[20 * 4];
        logits[17 * 4 + 3] = bad;
        logits[19 * 4] = bad;
        TopKRouter router = TopKRouter.of(RouterConfig.topK(4, 2), BACKEND.matrix(4, 1, new double[] {1, 1, 1, 1}));
        assertThatThrownBy(() -> router.route(BACKEND.matrix(1, 1, new double[] {bad}), RoutingContext.plain()))
                .isInstanceOf(ArithmeticException.class)
                .hasMessage("router logits: expected finite values but token 0, expert 0 is " + bad);
        assertThatThrownBy(() -> TopKRouterTest.routeLogits(RouterConfig.topK(4, 2), logits))
                .isInstanceOf(ArithmeticException.class)
                .hasMessageMatching("router logits: expected finite values but token 17, expert \\d is .*");
    }

    @Test
    void anOverflowOfOneExpertIsNamed() {
        TopKRouter router = TopKRouter.of(
                RouterConfig.topK(4, 2), BACKEND.matrix(4, 2, new double[] {1, 1, 1, 1, 1, 1, 1e308, -1e308}));
        double[] tokens = new double[18 * 2];
        tokens[34] = 10;
        tokens[35] = 10;
        assertThatThrownBy(() -> router.route(BACKEND.matrix(18, 2, tokens), RoutingContext.plain()))
                .isInstanceOf(ArithmeticException.class)
                .hasMessage("router logits: expected finite values but token 17, expert 3 is NaN");
    }

    @Test
    void aRouterThatWasClosedFillsNoBuffer() {
        TopKRouter router = TopKRouter.random(RouterConfig.topK(4, 2), 3, BACKEND, 1)
                .withNoise(new RouterNoise.LearnedNormal(0.01));
        TopKPass pass = router.route(
                BACKEND.matrix(1, 3, new double[] {1, 2, 3}),
                RoutingContext.plain().withSeed(1));
        Parameters into = Parameters.of(Map.of("weight", BACKEND.buffer(4, 3), "noise", BACKEND.buffer(4, 3)));
        router.close();
        assertThatThrownBy(() -> pass.backward(new double[] {1, 2}, new double[0], into.names(), into))
                .isInstanceOf(IllegalStateException.class);
        into.names().forEach(name -> assertThat(into.get(name).toArray()).containsOnly(0));
    }

    @Test
    void tokensOfAnotherWidthAreRefused() {
        TopKRouter router = TopKRouter.random(RouterConfig.topK(4, 2), 2048, BACKEND, 1);
        assertThatThrownBy(() -> router.route(BACKEND.buffer(1, 1024), RoutingContext.plain()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("tokens: expected 2048 columns (hidden size of the router) but was 1024");
    }

    @Test
    void tokensOfAnotherBackendAreRefused() {
        TopKRouter router = TopKRouter.random(RouterConfig.topK(4, 2), 3, BACKEND, 1);
        Matrix foreign = new ForeignMatrix(1, 3);
        assertThatThrownBy(() -> router.route(foreign, RoutingContext.plain()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("tokens: expected a matrix of ReferenceBackend but was one of Foreign;"
                        + " convert it with backend.copyOf(tokens)");
    }

    @Test
    void aContextOfAnotherLengthIsRefused() {
        TopKRouter router = TopKRouter.random(RouterConfig.topK(4, 2), 3, BACKEND, 1);
        RoutingContext context =
                new RoutingContext(Optional.of(RowMask.of(new boolean[2])), List.of(), OptionalLong.empty());
        assertThatThrownBy(() -> router.route(BACKEND.buffer(1, 3), context))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("context.valid: expected 1 rows (tokens) but was 2");
    }

    @Test
    void weightsOfAnotherShapeAreRefused() {
        RouterConfig config = RouterConfig.topK(4, 2);
        assertThatThrownBy(() -> TopKRouter.of(config, BACKEND.buffer(3, 2)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("weight: expected 4 rows (experts) but was 3");
        assertThatThrownBy(() -> TopKRouter.of(config, BACKEND.buffer(4, 0)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("weight: expected at least 1 column (hidden size) but was 0");
        assertThatThrownBy(() -> TopKRouter.random(config, 0, BACKEND, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("hiddenSize: expected at least 1 but was 0");
    }

    @Test
    void parametersThatDoNotFitAreRefused() {
        TopKRouter router = TopKRouter.random(RouterConfig.topK(4, 2), 3, BACKEND, 1);
        assertThatThrownBy(() -> router.withParameters(Parameters.of("weight", BACKEND.buffer(4, 2))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("weight: expected 4 x 3 (shape of the weight it replaces) but was 4 x 2");
        assertThatThrownBy(() -> router.withParameters(Parameters.of("wait", BACKEND.buffer(4, 3))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("parameters: expected a matrix named weight but was a set without it");
    }
}
