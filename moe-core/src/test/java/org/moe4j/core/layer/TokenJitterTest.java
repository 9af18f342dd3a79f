package org.moe4j.core.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.vector.VectorBackend;

class TokenJitterTest {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final TokenJitter JITTER = new TokenJitter(.1);

    private static double moment(double[] values, double mean, int power) {
        return Arrays.stream(values)
                .map(x -> Math.pow(x - mean, power))
                .average()
                .orElseThrow();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void factorsAreUniformAroundOne(long seed) {
        double epsilon = .1;
        double[] u = JITTER.factors(BACKEND, 500, 200, seed).toArray(); // 10⁵ draws: five standard errors each
        double variance = epsilon * epsilon / 3;
        double fourth = Math.pow(epsilon, 4) / 5;
        assertThat(moment(u, 0, 1)).isCloseTo(1, within(5 * Math.sqrt(variance / 1e5)));
        assertThat(moment(u, 1, 2)).isCloseTo(variance, within(5 * Math.sqrt((fourth - variance * variance) / 1e5)));
        assertThat(moment(u, 1, 4)).isCloseTo(fourth, within(5 * Math.sqrt(Math.pow(epsilon, 8) / 9 / 1e5)));
        assertThat(Arrays.stream(u).min().orElseThrow()).isBetween(.9, .9001);
        assertThat(Arrays.stream(u).max().orElseThrow()).isBetween(1.0999, 1.1);
    }

    @Test
    void factorsDependOnSeedAndPositionAlone() {
        double[] few = JITTER.factors(BACKEND, 3, 5, 7).toArray();
        assertThat(Arrays.copyOf(JITTER.factors(BACKEND, 4, 5, 7).toArray(), 15))
                .isEqualTo(few);
        double[] rounded = Arrays.stream(few).map(u -> (float) u).toArray();
        for (Backend backend : List.of(VectorBackend.float64(), Nd4jBackend.float64())) {
            assertThat(JITTER.factors(backend, 3, 5, 7).toArray()).isEqualTo(few);
        }
        for (Backend backend : List.of(VectorBackend.float32(), Nd4jBackend.float32())) {
            assertThat(JITTER.factors(backend, 3, 5, 7).toArray()).isEqualTo(rounded);
        }
        assertThat(JITTER.factors(BACKEND, 3, 5, 8).toArray()).isNotEqualTo(few);
        assertThat(Arrays.stream(few).distinct().count()).isEqualTo(15);
        assertThat(new TokenJitter(0).factors(BACKEND, 2, 2, 1).toArray()).containsOnly(1);
    }

    @Test
    void aLayerJittersUnderASeedOnlyAndReproduces() {
        SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(2, 4, 3), BACKEND, 1);
        Routing routing = Routing.of(2, 1, new int[] {0, 1, 0}, new double[] {1, .5, .25});
        Matrix tokens = Initializer.normal(1).draw(BACKEND, 3, 4, 2);
        MoeLayer plain = MoeLayer.of(new FixedRouter(routing), experts);
        MoeLayer layer = plain.withTokenJitter(JITTER);
        assertThat(layer.tokenJitter()).contains(JITTER);
        double[] clean = plain.apply(tokens).toArray();
        assertThat(layer.forward(tokens).output().toArray()).isEqualTo(clean);
        assertThat(layer.apply(tokens).toArray()).isEqualTo(clean);
        RoutingContext seeded = RoutingContext.plain().withSeed(5);
        double[] jittered = layer.forward(tokens, seeded).output().toArray();
        assertThat(jittered).isNotEqualTo(clean);
        assertThat(layer.forward(tokens, seeded).output().toArray()).isEqualTo(jittered);
        assertThat(layer.forward(tokens, seeded.withSeed(6)).output().toArray()).isNotEqualTo(jittered);
        assertThat(plain.forward(tokens, seeded).output().toArray()).isEqualTo(clean);
        // the definition: the plain layer on tokens that were multiplied by hand
        double[] factors = JITTER.factors(
                        BACKEND, 3, 4, seeded.noiseSeed(TokenJitter.USE).orElseThrow())
                .toArray();
        double[] product = tokens.toArray();
        Arrays.setAll(product, i -> product[i] * factors[i]);
        assertThat(plain.apply(BACKEND.matrix(3, 4, product)).toArray()).isEqualTo(jittered);
    }

    @Test
    void usesOfOneSeedDrawDifferently() {
        RoutingContext context = RoutingContext.plain().withSeed(1);
        assertThat(context.noiseSeed(TokenJitter.USE)).isNotEqualTo(context.noiseSeed("router"));
        assertThat(context.noiseSeed(TokenJitter.USE)).isEqualTo(context.noiseSeed(TokenJitter.USE));
        assertThat(context.noiseSeed(TokenJitter.USE))
                .isNotEqualTo(context.withSeed(2).noiseSeed(TokenJitter.USE));
        assertThat(RoutingContext.plain().noiseSeed(TokenJitter.USE)).isEqualTo(OptionalLong.empty());
    }

    @Test
    void epsilonHasALimit() {
        for (double wrong : new double[] {-.1, 1, Double.NaN}) {
            assertThatThrownBy(() -> new TokenJitter(wrong))
                    .hasMessage("epsilon: expected a number of at least 0 and less than 1 but was " + wrong);
        }
    }
}
