package org.moe4j.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.RouterNoise.FixedNormal;
import org.moe4j.router.RouterNoise.InputJitter;
import org.moe4j.router.RouterNoise.LearnedNormal;

class RouterNoiseTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final int HIDDEN = 5;
    private static final RouterConfig CONFIG = RouterConfig.topK(6, 2);

    static RoutingContext seeded(long seed) {
        return new RoutingContext(Optional.empty(), List.of(), OptionalLong.of(seed));
    }

    static Stream<RouterNoise> noises() {
        return Stream.of(new InputJitter(.25), new FixedNormal(1), new LearnedNormal(.01));
    }

    private static TopKRouter router(RouterNoise noise) {
        TopKRouter plain = TopKRouter.random(CONFIG, HIDDEN, BACKEND, 7);
        return noise instanceof LearnedNormal learned
                ? plain.withNoise(learned, Initializer.normal(.5).draw(BACKEND, 6, HIDDEN, 8))
                : plain.withNoise(noise);
    }

    private static Matrix tokens(int count) {
        return Initializer.normal(1).draw(BACKEND, count, HIDDEN, 3);
    }

    private static String text(org.moe4j.core.dispatch.Routing routing) {
        StringBuilder all = new StringBuilder();
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                all.append(routing.expert(t, rank))
                        .append(' ')
                        .append(routing.weight(t, rank))
                        .append('\n');
            }
        }
        return all.toString();
    }

    @ParameterizedTest
    @MethodSource("noises")
    void withoutASeedThereIsNoNoise(RouterNoise noise) {
        TopKRouter plain = TopKRouter.random(CONFIG, HIDDEN, BACKEND, 7);
        TopKRouter noisy = router(noise);
        Matrix x = tokens(20);
        TopKPass expected = plain.route(x, RoutingContext.plain());
        TopKPass pass = noisy.route(x, RoutingContext.plain());
        assertThat(pass.logits()).isEqualTo(expected.logits());
        assertThat(pass.cleanLogits()).isEqualTo(expected.logits());
        assertThat(pass.noiseDeviations()).isEmpty();
        assertThat(text(pass.routing())).isEqualTo(text(expected.routing()));
        assertThat(text(noisy.routing(x, RoutingContext.plain()))).isEqualTo(text(expected.routing()));
    }

    @Test
    void aSeedWithoutNoiseIsNoNoise() {
        TopKRouter plain = TopKRouter.random(CONFIG, HIDDEN, BACKEND, 7);
        Matrix x = tokens(20);
        assertThat(plain.route(x, seeded(4)).logits())
                .isEqualTo(plain.route(x, RoutingContext.plain()).logits());
        assertThat(text(plain.routing(x, seeded(4)))).isEqualTo(text(plain.routing(x, RoutingContext.plain())));
    }

    @ParameterizedTest
    @MethodSource("noises")
    void aSeedGivesTheSameBitsAndAnotherOneOthers(RouterNoise noise) {
        TopKRouter noisy = router(noise);
        Matrix x = tokens(20);
        TopKPass pass = noisy.route(x, seeded(4));
        assertThat(noisy.route(x, seeded(4)).logits()).isEqualTo(pass.logits());
        assertThat(text(noisy.routing(x, seeded(4)))).isEqualTo(text(pass.routing()));
        double[] other = noisy.route(x, seeded(5)).logits();
        for (int i = 0; i < other.length; i++) {
            assertThat(other[i]).isNotEqualTo(pass.logits()[i]);
        }
    }

    @ParameterizedTest
    @MethodSource("noises")
    void theNoiseOfATokenDependsOnNoOtherToken(RouterNoise noise) {
        TopKRouter noisy = router(noise);
        double[] few = noisy.route(tokens(7), seeded(4)).logits();
        double[] many = noisy.route(tokens(20), seeded(4)).logits();
        assertThat(Arrays.copyOf(many, few.length)).isEqualTo(few);
    }

    /** Logits of a router whose weights are all zero: the noise alone. */
    private static double[] zeroRouter(RouterConfig config, RouterNoise noise) {
        Matrix zeros = BACKEND.matrix(64, 8, new double[64 * 8]);
        Matrix x = Initializer.normal(1).draw(BACKEND, 300, 8, 3);
        try (zeros;
                x;
                TopKRouter plain = TopKRouter.of(config, zeros);
                TopKRouter router = plain.withNoise(noise)) {
            return router.route(x, seeded(11)).logits();
        }
    }

    @Test
    void fixedNoiseIsNormalWithItsDeviationOverTheNumberOfExperts() {
        RouterConfig config = RouterConfig.topK(64, 4);
        double[] logits = zeroRouter(config, new FixedNormal(3));
        requireStandardNormal(Arrays.stream(logits).map(l -> l * 64 / 3).toArray());
    }

    @Test
    void learnedNoiseStartsWithTheSoftplusOfZeroAndTheFloor() {
        RouterConfig config = RouterConfig.topK(64, 4);
        double[] logits = zeroRouter(config, new LearnedNormal(.01));
        requireStandardNormal(
                Arrays.stream(logits).map(l -> l / (Math.log(2) + .01)).toArray());
    }

    /**
     * Mean and second moment of n standard normal numbers lie within 5 standard errors, 1/√n and √(2/n); and neighbours are
     * uncorrelated to within 5/√n. Each fails a right generator less than once in a million.
     */
    private static void requireStandardNormal(double[] draws) {
        double n = draws.length;
        double mean = 0;
        double square = 0;
        double neighbours = 0;
        for (int i = 0; i < draws.length; i++) {
            mean += draws[i] / n;
            square += draws[i] * draws[i] / n;
            neighbours += i == 0 ? 0 : draws[i] * draws[i - 1] / n;
        }
        assertThat(mean).isCloseTo(0, within(5 / Math.sqrt(n)));
        assertThat(square).isCloseTo(1, within(5 * Math.sqrt(2 / n)));
        assertThat(neighbours).isCloseTo(0, within(5 / Math.sqrt(n)));
    }

    @Test
    void noiseOfOneElementIsNormalOverSeeds() {
        TopKRouter router = TopKRouter.of(RouterConfig.topK(2, 1), BACKEND.matrix(2, 1, new double[2]))
                .withNoise(new FixedNormal(2));
        Matrix x = BACKEND.matrix(1, 1, new double[] {1});
        double[] draws = new double[20_000];
        for (int seed = 0; seed < draws.length; seed++) {
            draws[seed] = router.route(x, seeded(seed)).logits()[1];
        }
        requireStandardNormal(draws);
    }

    @Test
    void learnedDeviationsAreSoftplusPlusFloorAndNoiseIsTheirMultiple() {
        TopKPass pass = router(new LearnedNormal(.01)).route(tokens(20), seeded(4));
        TopKPass fixed = router(new FixedNormal(6)).route(tokens(20), seeded(4)); // deviation 1: ξ itself
        double[] x = tokens(20).toArray();
        double[] w = Initializer.normal(.5).draw(BACKEND, 6, HIDDEN, 8).toArray();
        double[] clean = pass.cleanLogits();
        double[] deviations = pass.noiseDeviations().orElseThrow();
        assertThat(fixed.noiseDeviations().orElseThrow()).containsOnly(1);
        for (int i = 0; i < clean.length; i++) {
            double u = 0;
            for (int d = 0; d < HIDDEN; d++) {
                u += x[i / 6 * HIDDEN + d] * w[i % 6 * HIDDEN + d];
            }
            assertThat(deviations[i]).isCloseTo(Math.log(1 + Math.exp(u)) + .01, within(1e-14));
            double xi = fixed.logits()[i] - fixed.cleanLogits()[i];
            assertThat(pass.logits()[i]).isCloseTo(clean[i] + xi * deviations[i], within(1e-14));
        }
    }

    @Test
    void jitterMultipliesEachNumberByAnUniformFactor() {
        double epsilon = .25;
        int width = 40;
        double[] unit = new double[width * width];
        for (int e = 0; e < width; e++) {
            unit[e * (width + 1)] = 1;
        }
        TopKRouter router = TopKRouter.of(RouterConfig.topK(width, 1), BACKEND.matrix(width, width, unit))
                .withNoise(new InputJitter(epsilon));
        Matrix x = Initializer.normal(1).draw(BACKEND, 500, width, 3);
        TopKPass pass = router.route(x, seeded(9));
        assertThat(pass.noiseDeviations()).isEmpty();
        double[] numbers = x.toArray();
        double[] logits = pass.logits();
        double n = logits.length;
        double mean = 0;
        double square = 0;
        for (int i = 0; i < logits.length; i++) {
            double factor = logits[i] / numbers[i];
            assertThat(factor).isBetween(1 - epsilon, 1 + epsilon);
            mean += (factor - 1) / epsilon / n;
            square += Math.pow((factor - 1) / epsilon, 2) / n;
        }
        // uniform in (−1, 1): variance 1/3, and the square has mean 1/3 and variance 1/5 − 1/9 = 4/45
        assertThat(mean).isCloseTo(0, within(5 / Math.sqrt(3 * n)));
        assertThat(square).isCloseTo(1.0 / 3, within(5 * Math.sqrt(4 / (45 * n))));
    }

    @Test
    void expertsSeeTheCleanTokens() {
        SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(6, HIDDEN, 4), BACKEND, 2);
        MoeLayer layer = MoeLayer.of(router(new InputJitter(.25)), experts);
        Matrix x = tokens(20);
        try (MoePass pass = layer.forward(x, seeded(4))) {
            assertThat(text(pass.routing())).isNotEqualTo(text(layer.router().routing(x, RoutingContext.plain())));
            DispatchPlan plan = DispatchPlan.of(pass.routing(), Capacity.dropless());
            try (Matrix rows = experts.apply(x, plan.rows(), plan.groups());
                    Matrix expected = plan.combine(rows)) {
                assertThat(pass.output().toArray()).isEqualTo(expected.toArray());
            }
        }
    }

    @ParameterizedTest
    @MethodSource("noises")
    void applyIsWithoutNoise(RouterNoise noise) {
        SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(6, HIDDEN, 4), BACKEND, 2);
        Matrix x = tokens(20);
        MoeLayer plain = MoeLayer.of(TopKRouter.random(CONFIG, HIDDEN, BACKEND, 7), experts);
        MoeLayer noisy = plain.withRouter(router(noise));
        assertThat(noisy.apply(x).toArray()).isEqualTo(plain.apply(x).toArray());
    }

    @Test
    void noiseIsReplacedAndItsWeightsGoWithIt() {
        TopKRouter plain = TopKRouter.random(CONFIG, HIDDEN, BACKEND, 7);
        assertThat(plain.noise()).isEmpty();
        TopKRouter learned = plain.withNoise(new LearnedNormal(0));
        assertThat(learned.parameters().names()).containsExactly("weight", "noise");
        assertThat(learned.parameters().get("noise").toArray()).containsOnly(0);
        assertThat(learned.toString()).contains("LearnedNormal[floor=0.0]");
        TopKRouter fixed = learned.withNoise(new FixedNormal(1));
        assertThat(fixed.parameters().names()).containsExactly("weight");
        assertThat(fixed.noise()).contains(new FixedNormal(1));
        TopKRouter changed = learned.withParameters(learned.parameters()
                .map((name, matrix) -> BACKEND.matrix(
                        6, HIDDEN, new SplittableRandom(1).doubles(30).toArray())));
        assertThat(changed.noise()).contains(new LearnedNormal(0));
        assertThat(changed.route(tokens(3), seeded(1)).noiseDeviations().orElseThrow())
                .isNotEqualTo(
                        learned.route(tokens(3), seeded(1)).noiseDeviations().orElseThrow());
    }

    @Test
    void numbersOutsideTheirRangeAreRefused() {
        assertThatThrownBy(() -> new InputJitter(1)).hasMessage("epsilon: expected a number in (0, 1) but was 1.0");
        assertThatThrownBy(() -> new FixedNormal(0))
                .hasMessage("deviation: expected a finite number above 0 but was 0.0");
        assertThatThrownBy(() -> new LearnedNormal(-1))
                .hasMessage("floor: expected a finite number of at least 0 but was -1.0");
        TopKRouter plain = TopKRouter.random(CONFIG, HIDDEN, BACKEND, 7);
        assertThatThrownBy(() -> plain.withNoise(new LearnedNormal(0), BACKEND.matrix(6, 1, new double[6])))
                .hasMessageStartingWith("noise: expected 6 x 5");
    }
}
