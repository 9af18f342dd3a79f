package org.moe4j.router.analysis.token;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Backends;
import org.moe4j.core.backend.Matrix;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.RouterPrecision;
import org.moe4j.router.TopKRouter;

class DotProductsTest {
    private static final int EXPERTS = 64;
    private static final int WIDTH = 37;

    /** The example of LLM Architecture Refresh 5, §2. */
    @Test
    void threeNumbersGiveTwoAndAHalf() {
        DotProducts token =
                DotProducts.of(new double[] {0.5, 3, 1}, new double[] {1, 0, 2}, new double[1], new double[] {2.5}, 0);
        assertThat(token.byHand()).containsExactly(2.5);
        assertThat(token.matching()).isEqualTo(1);
        assertThat(token.largestDifference()).isZero();
    }

    @ParameterizedTest
    @CsvSource({"reference, FLOAT64", "vector, FLOAT32"})
    void aRoutersLogitsAreDotProducts(String backend, Backends.Precision held) {
        Backend b = Backends.named(backend, held);
        SplittableRandom random = new SplittableRandom(3);
        Matrix tokens = b.matrix(5, WIDTH, random.doubles(5 * WIDTH, -1, 1).toArray());
        Matrix bias = b.matrix(1, EXPERTS, random.doubles(EXPERTS, -1, 1).toArray());
        Matrix weight =
                b.matrix(EXPERTS, WIDTH, random.doubles(EXPERTS * WIDTH, -1, 1).toArray());
        for (RouterPrecision precision : RouterPrecision.values()) {
            RouterConfig config = RouterConfig.topK(EXPERTS, 8).withPrecision(precision);
            DotProducts plain = DotProducts.of(TopKRouter.of(config, weight), tokens, 3);
            assertThat(plain.matching()).isEqualTo(EXPERTS);
            DotProducts biased = DotProducts.of(TopKRouter.of(config.withLogitBias(true), weight, bias), tokens, 4);
            assertThat(biased.matching()).isEqualTo(EXPERTS);
            for (int e = 0; e < EXPERTS; e++) {
                double sum = bias.get(0, e);
                for (int i = 0; i < WIDTH; i++) {
                    sum += weight.get(e, i) * tokens.get(4, i);
                }
                assertThat(biased.byHand().get(e)).isCloseTo(sum, within(1e-14));
            }
        }
    }

    /** One rounding more than the bound is found: with D = 1 it is 3·u·|w·x|. */
    @Test
    void aDifferenceThatRoundingDoesNotExplainIsFound() {
        double u = 0x1p-24;
        double[] x = {2};
        double[] w = {1, 1, -1};
        double[] bias = new double[3];
        double[] logits = {2 + 6 * u, 2 + 6.001 * u, -2};
        DotProducts token = DotProducts.of(x, w, bias, logits, u);
        assertThat(token.matching()).isEqualTo(2);
        assertThat(token.largestDifference()).isEqualTo(2 + 6.001 * u - 2);
        assertThat(token.given()).containsExactly(2 + 6 * u, 2 + 6.001 * u, -2.0);
    }

    @Test
    void sizesHaveToFit() {
        assertThatThrownBy(() -> DotProducts.of(new double[2], new double[3], new double[1], new double[1], 0))
                .hasMessage("weight: expected 2 numbers (E x D) but was 3");
        assertThatThrownBy(() -> DotProducts.of(new double[2], new double[2], new double[2], new double[1], 0))
                .hasMessage("bias: expected 1 numbers (experts) but was 2");
    }
}
