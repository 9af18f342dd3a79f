package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;

/** The bias on the logits as a parameter, and the precision of the logits. */
class RouterBiasTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final RouterConfig CONFIG = RouterConfig.topK(3, 2).withLogitBias(true);

    private static Matrix weight() {
        return BACKEND.matrix(3, 1, new double[] {1, 2, 3});
    }

    private static Matrix bias(double... values) {
        return BACKEND.matrix(1, values.length, values);
    }

    @Test
    void isAddedToTheLogits() {
        TopKRouter router = TopKRouter.of(CONFIG, weight(), bias(.5, -1, .25));
        TopKPass pass = router.route(BACKEND.matrix(2, 1, new double[] {1, -1}), RoutingContext.plain());
        assertThat(pass.logits()).containsExactly(1.5, 1, 3.25, -.5, -3, -2.75);
    }

    @Test
    void isAParameterThatGoesOutAndIn() {
        Matrix given = bias(1, 2, 3);
        TopKRouter router = TopKRouter.of(CONFIG, weight(), given);
        given.close();
        Parameters parameters = router.parameters();
        assertThat(parameters.names()).containsExactlyInAnyOrder("weight", "bias");
        assertThat(parameters.get("bias").toArray()).containsExactly(1, 2, 3);
        TopKRouter changed =
                router.withParameters(Parameters.of("weight", weight()).and(Parameters.of("bias", bias(4, 5, 6))));
        assertThat(changed.parameters().get("bias").toArray()).containsExactly(4, 5, 6);
        assertThat(router.withSelectionBias(SelectionBias.zeros(3))
                        .parameters()
                        .get("bias")
                        .toArray())
                .containsExactly(1, 2, 3);
        router.close();
        assertThatThrownBy(router::parameters).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void startsAtZeroInARandomRouter() {
        assertThat(TopKRouter.random(CONFIG, 4, BACKEND, 1)
                        .parameters()
                        .get("bias")
                        .toArray())
                .containsExactly(0, 0, 0);
    }

    @Test
    void hasToGoWithTheConfiguration() {
        assertThatThrownBy(() -> TopKRouter.of(CONFIG, weight()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("bias: expected a matrix 1 x 3 (config.logitBias) but was absent");
        assertThatThrownBy(() -> TopKRouter.of(CONFIG.withLogitBias(false), weight(), bias(1, 2, 3)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("config.logitBias: expected true with a bias on the logits but was false");
        assertThatThrownBy(() -> TopKRouter.of(CONFIG, weight(), bias(1, 2)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("bias: expected 1 x 3 (one number per expert) but was 1 x 2");
        TopKRouter router = TopKRouter.of(CONFIG, weight(), bias(1, 2, 3));
        assertThatThrownBy(() -> router.withParameters(Parameters.of("weight", weight())))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("parameters: expected a matrix named bias but was a set without it");
        assertThatThrownBy(() ->
                        router.withParameters(Parameters.of("weight", weight()).and(Parameters.of("bias", bias(1)))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("bias: expected 1 x 3 (shape of the bias it replaces) but was 1 x 1");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 8, 11})
    void doubleLogitsAreSumsInTheOrderOfTheColumns(int experts) {
        int width = 37;
        SplittableRandom random = new SplittableRandom(experts);
        double[] x = random.doubles(3L * width, -1, 1).toArray();
        double[] w = random.doubles((long) experts * width, -1, 1).toArray();
        RouterConfig config = RouterConfig.topK(experts, 1).withPrecision(RouterPrecision.DOUBLE);
        double[] logits = TopKRouter.of(config, BACKEND.matrix(experts, width, w))
                .route(BACKEND.matrix(3, width, x), RoutingContext.plain())
                .logits();
        for (int t = 0; t < 3; t++) {
            for (int e = 0; e < experts; e++) {
                double sum = 0;
                for (int d = 0; d < width; d++) {
                    sum += x[t * width + d] * w[e * width + d];
                }
                assertThat(logits[t * experts + e]).isEqualTo(sum);
            }
        }
    }

    @Test
    void logitsThatOverflowThroughTheBiasAreNamed() {
        TopKRouter router = TopKRouter.of(CONFIG, weight(), bias(0, Double.MAX_VALUE, 0));
        assertThatThrownBy(() ->
                        router.route(BACKEND.matrix(1, 1, new double[] {Double.MAX_VALUE / 2}), RoutingContext.plain()))
                .isInstanceOf(ArithmeticException.class)
                .hasMessageStartingWith("router logits: expected finite values but token 0, expert ");
    }

    @Test
    void ranksLogitsWhereWeightsAreMadeFromThem() {
        assertThatThrownBy(() -> RouterConfig.topK(3, 2)
                        .withScore(new ScoreFunction.Sigmoid())
                        .withRenormalization(new Renormalization.SoftmaxOfSelected()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("score: expected Softmax[] with SoftmaxOfSelected[], which takes logits"
                        + " but was Sigmoid[epsilon=0.0]");
    }
}
