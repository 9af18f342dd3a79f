package org.moe4j.core.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.testing.standin.CountingBackend;

/** What a layer holds and gives up: every handle is counted. */
class LayerMemoryTest {
    private static final RoutingContext SEEDED = RoutingContext.plain().withSeed(1);

    private final CountingBackend counting = new CountingBackend();

    /** D 7, L 5, F 11 and 13: every shape of a parameter is told from that of any other matrix. */
    private MoeLayer layer(WeightPlace place) {
        return layer(
                place,
                SwiGluExperts.random(new ExpertShape(3, 5, 11), counting.backend(), 1),
                SwiGluExperts.random(new ExpertShape(1, 7, 13), counting.backend(), 2));
    }

    private MoeLayer layer(WeightPlace place, Experts experts, Experts shared) {
        Routing routing = Routing.of(3, 1, new int[] {2, 0}, new double[] {.7, .4});
        return MoeLayer.of(new FixedRouter(routing), experts, LatentProjections.random(7, 5, counting.backend(), 3))
                .withWeightPlace(place)
                .withTokenJitter(new TokenJitter(.1))
                .withShared(SharedBranch.of(shared, new WeightedMerge()));
    }

    private Matrix tokens() {
        return counting.backend().matrix(2, 7, new double[] {1, 2, 3, 4, 5, 6, 7, 1, -1, 1, -1, 1, -1, 1});
    }

    private static Parameters buffers(MoeLayer layer, CountingBackend counting) {
        Map<String, Matrix> buffers = new LinkedHashMap<>();
        try (Parameters all = layer.parameters()) {
            for (String name : all.names()) {
                Matrix value = all.get(name);
                buffers.put(name, counting.backend().buffer(value.rows(), value.columns()));
            }
        }
        return Parameters.of(buffers);
    }

    @ParameterizedTest
    @ValueSource(strings = {"INPUT", "OUTPUT"})
    void nothingIsLeftOpen(String place) {
        MoeLayer layer = layer(WeightPlace.valueOf(place));
        Parameters into = buffers(layer, counting);
        Matrix tokens = tokens();
        int before = counting.open();
        try (MoePass pass = layer.forward(tokens, SEEDED)) {
            pass.output().close();
            layer.apply(tokens).close();
            pass.backward(tokens).close();
            pass.backward(tokens, into.names(), into).close();
            assertThat(counting.open()).isGreaterThan(before);
        }
        assertThat(counting.open()).isEqualTo(before);
        into.close();
        tokens.close();
        layer.close();
        assertThat(counting.open()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"INPUT", "OUTPUT"})
    void whateverFailsNothingIsLeftOpen(String place) {
        MoeLayer layer = layer(
                WeightPlace.valueOf(place),
                FeedForwardExperts.random(
                        new ExpertShape(3, 5, 11, new Activation.SwiGlu(), true), counting.backend(), 1),
                new ScalingExperts(counting.backend(), 7, 5));
        Parameters into = buffers(layer, counting);
        Matrix tokens = tokens();
        MoePass pass = layer.forward(tokens, SEEDED);
        failEach("apply", () -> layer.apply(tokens).close());
        failEach("forward", () -> {
            try (MoePass again = layer.forward(tokens, SEEDED)) {
                again.output().close();
            }
        });
        failEach("backward", () -> pass.backward(tokens).close());
        failEach(
                "backward into", () -> pass.backward(tokens, into.names(), into).close());
    }

    private void failEach(String what, Runnable run) {
        int before = counting.open();
        int start = counting.calls();
        run.run();
        int kernels = counting.calls() - start;
        assertThat(kernels).isGreaterThan(10);
        for (int call = 0; call < kernels; call++) {
            counting.failAfter(call);
            assertThatThrownBy(run::run).isInstanceOf(CountingBackend.Failure.class);
            counting.heal();
            assertThat(counting.open())
                    .as(what + " with kernel " + call + " failing")
                    .isEqualTo(before);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"INPUT", "OUTPUT"})
    void frozenParametersHaveNoGradients(String place) {
        String[] shapes = {"5x7", "7x5", "11x5", "5x11", "13x7", "7x13"};
        MoeLayer layer = layer(WeightPlace.valueOf(place));
        Matrix tokens = tokens();
        try (MoePass pass = layer.forward(tokens, SEEDED)) {
            counting.made();
            pass.backward(tokens, Set.of(), Parameters.none()).close();
            assertThat(counting.made()).doesNotContain(shapes);
            Parameters all = buffers(layer, counting);
            counting.made();
            pass.backward(tokens, all.names(), all).close();
            assertThat(counting.made()).as("wanted ones are added in place").doesNotContain(shapes);
            pass.backward(tokens).close();
            assertThat(counting.made()).contains(shapes);
        }
    }

    @Test
    void nothingIsWrittenBeforeAllChecksPassed() {
        MoeLayer layer = layer(WeightPlace.OUTPUT);
        Matrix tokens = tokens();
        Parameters into = buffers(layer, counting);
        try (MoePass pass = layer.forward(tokens)) {
            Matrix wide = counting.backend().buffer(2, 8);
            for (Runnable wrong : List.<Runnable>of(
                    () -> pass.backward(wide, into.names(), into),
                    () -> pass.backward(tokens, new double[5], into.names(), into),
                    () -> pass.backward(tokens, Set.of("router.weight"), into),
                    () -> pass.backward(tokens, into.names(), into.under("experts")))) {
                assertThatThrownBy(wrong::run).isInstanceOf(RuntimeException.class);
            }
            for (String name : into.names()) {
                assertThat(into.get(name).toArray()).containsOnly(0);
            }
            pass.backward(tokens, new double[6], into.names(), into);
            assertThat(into.get("latent.down").toArray()).isNotEqualTo(new double[35]);
        }
    }
}
