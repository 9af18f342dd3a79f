package org.moe4j.core.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;

/** What a layer refuses before it writes or computes anything. */
class WantedBuffersTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    private final SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(2, 4, 5), BACKEND, 1);
    private final Matrix tokens = Initializer.normal(1).draw(BACKEND, 3, 4, 4);

    @Test
    void aClosedMatrixUnderAnyNameIsFoundBeforeBuffersChange() {
        Routing routing = Routing.of(2, 1, new int[] {0, 1, 0}, new double[] {1, 2, 3});
        Parameters into = Parameters.of("experts.0.up", BACKEND.buffer(5, 4)).and(Parameters.of("mine", closed()));
        try (MoePass pass = MoeLayer.of(new FixedRouter(routing), experts).forward(tokens)) {
            assertThatThrownBy(() -> pass.backward(tokens, Set.of("experts.0.up"), into))
                    .isInstanceOf(IllegalStateException.class);
        }
        assertThat(into.get("experts.0.up").toArray()).containsOnly(0);
    }

    @Test
    void aBufferUnderTwoNamesIsRefusedBeforeAnyWork() {
        Routing routing = Routing.of(2, 1, new int[] {0, 1, 0}, new double[] {1, 2, 3});
        Matrix buffer = BACKEND.buffer(5, 4);
        Parameters into = Parameters.of("experts.0.up", buffer).and(Parameters.of("experts.1.gate", buffer));
        try (MoePass pass = MoeLayer.of(new FixedRouter(routing), experts).forward(tokens)) {
            Set<String> both = new LinkedHashSet<>(List.of("experts.0.up", "experts.1.gate"));
            assertThatThrownBy(() -> pass.backward(tokens, both, into))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("into.experts.1.gate: expected a buffer of its own but was that of into.experts.0.up");
            assertThat(buffer.toArray()).containsOnly(0);
            pass.backward(tokens, Set.of("experts.0.up"), into).close(); // the other name is not wanted
            assertThat(buffer.toArray()).isNotEqualTo(new double[20]);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aClosedRouterIsFoundBeforeBuffersChange(WeightPlace place) {
        LinearRouter router =
                new LinearRouter(Initializer.normal(1).draw(BACKEND, 2, 4, 5), new int[][] {{0}, {1}, {0}}, 1);
        Experts shared = SwiGluExperts.random(new ExpertShape(1, 4, 5), BACKEND, 2);
        MoeLayer layer = MoeLayer.of(router, experts)
                .withWeightPlace(place)
                .withShared(SharedBranch.of(shared, new WeightedMerge()));
        Parameters into = layer.parameters().map((name, value) -> BACKEND.buffer(value.rows(), value.columns()));
        try (MoePass pass = layer.forward(tokens)) {
            layer.close();
            assertThatThrownBy(() -> pass.backward(tokens, into.names(), into))
                    .isInstanceOf(IllegalStateException.class);
        }
        for (String name : into.names()) {
            assertThat(into.get(name).toArray()).as(name).containsOnly(0);
        }
    }

    private static Matrix closed() {
        Matrix matrix = BACKEND.buffer(1, 1);
        matrix.close();
        return matrix;
    }

    /** A router that says it has one expert per token, and gives one of them two. */
    @Test
    void weightsOnTheInputRefuseARoutingWithTwoExperts() {
        Routing one = Routing.of(2, 1, new int[] {0, 1, 0}, new double[] {1, 2, 3});
        Routing two = Routing.ofVarying(2, new int[] {0, 2, 3, 3}, new int[] {0, 1, 0}, new double[] {1, 2, 3});
        MoeLayer layer = MoeLayer.of(new FixedRouter(one, two), experts).withWeightPlace(WeightPlace.INPUT);
        assertThatThrownBy(() -> layer.forward(tokens))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("routing: expected at most 1 expert per token with weights on the input but was 2");
        assertThatThrownBy(() -> layer.apply(tokens)).isInstanceOf(IllegalArgumentException.class);
    }
}
