package org.moe4j.core.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.Capacity.Limited;
import org.moe4j.core.dispatch.UnservedTokens;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.expert.SwiGluWeights;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.core.vector.VectorBackend;

/** Latent projections, weights on the input, capacity, shared experts and jitter together, against {@link PlainLayer}. */
class LayerSettingsTest {
    private static final Backend REFERENCE = ReferenceBackend.instance();
    private static final List<Backend> BACKENDS = List.of(
            REFERENCE, VectorBackend.float64(), VectorBackend.float32(), Nd4jBackend.float64(), Nd4jBackend.float32());
    private static final int TOKENS = 5;

    static LongStream seeds() {
        Long asked = Long.getLong("moe.seed");
        return asked == null ? LongStream.rangeClosed(1, 40) : LongStream.of(asked);
    }

    private static Matrix matrix(PlainLayer plain, Backend backend, String name, int rows) {
        double[] values = plain.parameters.get(name);
        return backend.matrix(rows, values.length / rows, values);
    }

    private static SwiGluWeights expert(PlainLayer plain, Backend backend, String name, int in) {
        return new SwiGluWeights(
                matrix(plain, backend, name + ".gate", plain.width),
                matrix(plain, backend, name + ".up", plain.width),
                matrix(plain, backend, name + ".down", in));
    }

    static MoeLayer layer(PlainLayer plain, Backend backend) {
        int inner = plain.latent == 0 ? plain.hidden : plain.latent;
        List<SwiGluWeights> bank = new ArrayList<>();
        for (int e = 0; e < plain.experts; e++) {
            bank.add(expert(plain, backend, "experts." + e, inner));
        }
        Router router =
                new LinearRouter(matrix(plain, backend, "router.weight", plain.experts), plain.chosen, plain.topK);
        MoeLayer layer = plain.latent == 0
                ? MoeLayer.of(router, SwiGluExperts.of(bank))
                : MoeLayer.of(
                        router,
                        SwiGluExperts.of(bank),
                        LatentProjections.of(
                                matrix(plain, backend, "latent.down", plain.latent),
                                matrix(plain, backend, "latent.up", plain.hidden)));
        if (plain.weightsInput) {
            layer = layer.withWeightPlace(WeightPlace.INPUT);
        }
        if (plain.factor > 0) {
            Limited capacity = Capacity.factor(plain.factor);
            layer = layer.withCapacity(plain.passes ? capacity.withUnserved(UnservedTokens.PASSED) : capacity);
        }
        if (!plain.merged()) {
            return layer;
        }
        List<Experts> shared = new ArrayList<>();
        for (int i = 0; i < plain.shared; i++) {
            shared.add(SwiGluExperts.of(List.of(expert(plain, backend, "shared." + i, plain.hidden))));
        }
        return layer.withShared(new SharedBranch(shared, new WeightedMerge()));
    }

    private static double[] ones(int count) {
        double[] ones = new double[count];
        Arrays.fill(ones, 1);
        return ones;
    }

    private static void assertClose(double[] actual, double[] expected, double roundoff, String what) {
        assertThat(actual).hasSameSizeAs(expected);
        double scale = 1 + FiniteDifferences.norm(expected);
        for (int i = 0; i < expected.length; i++) {
            // sums of at most a few hundred products of numbers below 1, each rounded once
            assertThat(actual[i]).as(what).isCloseTo(expected[i], within(200 * roundoff * scale));
        }
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void outputsAreThoseOfTheDefinitionOnEveryBackend(long seed) {
        PlainLayer plain = new PlainLayer(seed, TOKENS);
        double[] expected = plain.output(ones(TOKENS * plain.hidden));
        for (Backend backend : BACKENDS) {
            try (MoeLayer layer = layer(plain, backend);
                    Matrix tokens = backend.matrix(TOKENS, plain.hidden, plain.tokens);
                    MoePass pass = layer.forward(tokens);
                    Matrix output = pass.output();
                    Matrix applied = layer.apply(tokens)) {
                String what = plain + " on " + backend.name();
                assertClose(output.toArray(), expected, backend.unitRoundoff(), what);
                assertClose(applied.toArray(), expected, backend.unitRoundoff(), what);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void gradientsAreThoseOfTheDefinition(long seed) {
        PlainLayer plain = new PlainLayer(seed, TOKENS);
        double[] dOutput = PlainLayer.numbers(new SplittableRandom(seed + 1000), TOKENS * plain.hidden, 1);
        boolean jittered = seed % 2 == 0;
        MoeLayer layer = layer(plain, REFERENCE).withTokenJitter(new TokenJitter(.3));
        RoutingContext context = jittered ? RoutingContext.plain().withSeed(seed) : RoutingContext.plain();
        double[] jitter = jittered
                ? new TokenJitter(.3)
                        .factors(
                                REFERENCE,
                                TOKENS,
                                plain.hidden,
                                context.noiseSeed(TokenJitter.USE).orElseThrow())
                        .toArray()
                : ones(TOKENS * plain.hidden);
        MoePass pass = layer.forward(REFERENCE.matrix(TOKENS, plain.hidden, plain.tokens), context);
        assertClose(pass.output().toArray(), plain.output(jitter), 0x1p-53, plain.toString());

        Map<String, double[]> numeric = new LinkedHashMap<>();
        numeric.put("tokens", differences(plain, plain.tokens, dOutput, jitter));
        plain.parameters.forEach((name, values) -> numeric.put(name, differences(plain, values, dOutput, jitter)));
        double norm = FiniteDifferences.norm(numeric.values().toArray(double[][]::new));
        Gradients all = pass.backward(REFERENCE.matrix(TOKENS, plain.hidden, dOutput));
        assertThat(all.parameters().names()).isEqualTo(plain.parameters.keySet());
        numeric.forEach((name, expected) -> {
            Matrix actual =
                    name.equals("tokens") ? all.input() : all.parameters().get(name);
            assertThat(FiniteDifferences.worst(actual.toArray(), expected, norm))
                    .as(name + " of " + plain)
                    .isLessThanOrEqualTo(1);
        });
    }

    private static double[] differences(PlainLayer plain, double[] values, double[] dOutput, double[] jitter) {
        double[] start = values.clone();
        double[] gradient = FiniteDifferences.gradient(
                at -> {
                    System.arraycopy(at, 0, values, 0, at.length);
                    double[] y = plain.output(jitter);
                    double loss = 0;
                    for (int i = 0; i < y.length; i++) {
                        loss += y[i] * dOutput[i];
                    }
                    return loss;
                },
                start);
        System.arraycopy(start, 0, values, 0, start.length);
        return gradient;
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void wantedGradientsAreFreshOnesAdded(long seed) {
        PlainLayer plain = new PlainLayer(seed, TOKENS);
        SplittableRandom random = new SplittableRandom(seed);
        for (Backend backend : BACKENDS) {
            try (MoeLayer layer = layer(plain, backend);
                    Matrix tokens = backend.matrix(TOKENS, plain.hidden, plain.tokens);
                    Matrix dOutput = backend.matrix(TOKENS, plain.hidden, plain.tokens);
                    MoePass pass = layer.forward(tokens);
                    Gradients all = pass.backward(dOutput)) {
                Map<String, Matrix> buffers = new LinkedHashMap<>();
                for (String name : all.parameters().names()) {
                    Matrix gradient = all.parameters().get(name);
                    if (random.nextBoolean()) {
                        Matrix buffer = backend.buffer(gradient.rows(), gradient.columns());
                        backend.accumulate(0, buffer, 0, gradient); // it holds one gradient already
                        buffers.put(name, buffer);
                    }
                }
                Parameters into = Parameters.of(buffers);
                try (Gradients some = pass.backward(dOutput, into.names(), into)) {
                    assertClose(
                            some.input().toArray(), all.input().toArray(), backend.unitRoundoff(), plain.toString());
                    assertThat(some.parameters().names()).isEqualTo(into.names());
                }
                for (String name : into.names()) {
                    double[] twice = Arrays.stream(all.parameters().get(name).toArray())
                            .map(value -> 2 * value)
                            .toArray();
                    assertClose(into.get(name).toArray(), twice, backend.unitRoundoff(), name + " of " + plain);
                }
                pass.output().close();
            }
        }
    }

    @Test
    void everySettingIsDrawn() {
        List<PlainLayer> drawn = LongStream.rangeClosed(1, 40)
                .mapToObj(seed -> new PlainLayer(seed, TOKENS))
                .toList();
        assertThat(drawn).anyMatch(c -> c.latent > 0 && c.weightsInput && c.factor > 0 && c.shared > 0);
        assertThat(drawn).anyMatch(c -> c.latent > 0 && c.passes && !c.weightsInput && c.topK > 1);
        assertThat(drawn).anyMatch(c -> c.latent > c.hidden);
        assertThat(drawn).anyMatch(c -> c.latent == 0 && c.weightsInput && c.passes);
    }

    @Test
    void chunksGiveWhatOneRunGives() {
        // as in MoeLayerTest, the width bounds a chunk to some hundred tokens
        int[][] chosen = new SplittableRandom(1)
                .ints(600, 0, 2)
                .mapToObj(e -> new int[] {e})
                .toArray(int[][]::new);
        SplittableRandom random = new SplittableRandom(2);
        Matrix weight = REFERENCE.matrix(2, 2, PlainLayer.numbers(random, 4, 1));
        SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(2, 1, 50_000), REFERENCE, 1);
        Matrix tokens = REFERENCE.matrix(600, 2, PlainLayer.numbers(random, 1200, 1));
        for (WeightPlace place : WeightPlace.values()) {
            MoeLayer layer = MoeLayer.of(
                            new LinearRouter(weight, chosen, 1), experts, LatentProjections.random(2, 1, REFERENCE, 3))
                    .withWeightPlace(place)
                    .withCapacity(Capacity.factor(.5).withUnserved(UnservedTokens.PASSED))
                    .withShared(SharedBranch.of(
                            SwiGluExperts.random(new ExpertShape(1, 2, 3), REFERENCE, 2), new WeightedMerge()));
            assertThat(layer.apply(tokens).toArray())
                    .isEqualTo(layer.forward(tokens).output().toArray());
        }
    }
}
