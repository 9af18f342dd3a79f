package org.moe4j.core.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.reference.ReferenceBackend;

/** What a layer refuses, and in which words. */
class MoeLayerErrorsTest {
    private static final Backend BACKEND = ReferenceBackend.instance();
    private static final Routing ROUTING =
            Routing.of(3, 2, new int[] {2, 0, 1, 2, 0, 2}, new double[] {.7, .3, .5, .4, .9, .2});

    private final SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(3, 4, 5), BACKEND, 1);
    private final SwiGluExperts wide = SwiGluExperts.random(new ExpertShape(1, 4, 7), BACKEND, 2);
    private final SwiGluExperts narrow = SwiGluExperts.random(new ExpertShape(1, 4, 2), BACKEND, 3);
    private final Matrix tokens = Initializer.normal(1).draw(BACKEND, 3, 4, 4);
    private final MoeLayer layer = MoeLayer.of(new FixedRouter(ROUTING), experts);

    @Test
    void badTokensAreFoundFirst() {
        Matrix narrowTokens = BACKEND.buffer(3, 5);
        assertThatThrownBy(() -> layer.forward(narrowTokens))
                .hasMessage("tokens: expected 4 columns (hidden size of the experts) but was 5");
        double[] values = new double[12];
        values[6] = Double.NaN;
        assertThatThrownBy(() -> layer.forward(BACKEND.matrix(3, 4, values)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("tokens: expected finite values but token 1, column 2 is NaN");
        values[6] = Double.NEGATIVE_INFINITY;
        assertThatThrownBy(() -> layer.apply(BACKEND.matrix(3, 4, values)))
                .hasMessage("tokens: expected finite values but token 1, column 2 is -Infinity");
        tokens.close();
        assertThatThrownBy(() -> layer.apply(tokens)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void gradientsMustFit() {
        MoePass pass = layer.forward(tokens);
        Matrix tall = BACKEND.buffer(4, 4);
        assertThatThrownBy(() -> pass.backward(tall))
                .hasMessage("dOutput: expected 3 x 4 (shape of the output) but was 4 x 4");
        assertThatThrownBy(() -> pass.backward(tokens, new double[5]))
                .hasMessage("dLogits: expected 9 numbers (T x E) but was 5");
        assertThatThrownBy(() -> layer.applyInto(tokens, tall))
                .hasMessage("output: expected 3 x 4 (shape of tokens) but was 4 x 4");
        assertThatThrownBy(() -> layer.applyInto(tokens, tokens))
                .hasMessage("output: expected a matrix made by backend.buffer but was an immutable matrix");
        Matrix closed = BACKEND.buffer(3, 4);
        closed.close();
        assertThatThrownBy(() -> layer.applyInto(tokens, closed)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void partsMustFitTogether() {
        Routing two = Routing.of(2, 1, new int[] {0}, new double[] {1});
        assertThatThrownBy(() -> MoeLayer.of(new FixedRouter(two), experts))
                .hasMessage("router: expected 3 experts (experts of the bank) but was 2");
        SwiGluExperts other = SwiGluExperts.random(new ExpertShape(1, 5, 2), BACKEND, 1);
        assertThatThrownBy(() -> layer.withShared(SharedBranch.of(other, new WeightedMerge())))
                .hasMessage("shared[0]: expected 4 as hidden size (of the routed experts) but was 5");
        assertThatThrownBy(() -> SharedBranch.of(experts, new WeightedMerge()))
                .hasMessage("experts[0]: expected 1 expert (every token goes to it) but was 3");
        assertThatThrownBy(
                        () -> layer.withShared(new SharedBranch(List.of(narrow, narrow, narrow), new WeightedMerge())))
                .hasMessage("shared: expected at most 2 experts (of this merge of tests) but was 3");
    }

    @Test
    void contextsMustSpeakOfTheSameRows() {
        RoutingContext masked = new RoutingContext(
                Optional.of(RowMask.of(new boolean[] {true, false})), List.of(), OptionalLong.empty());
        assertThatThrownBy(() -> layer.forward(tokens, masked))
                .hasMessage("context.valid: expected 3 rows (tokens) but was 2");
        RoutingContext sequences = new RoutingContext(Optional.empty(), List.of(1, 1), OptionalLong.of(1));
        assertThatThrownBy(() -> layer.forward(tokens, sequences))
                .hasMessage("context.sequenceLengths: expected 3 rows in all (tokens) but was 2");
        assertThatThrownBy(() -> new RoutingContext(Optional.empty(), List.of(-1), OptionalLong.empty()))
                .hasMessage("sequenceLengths: expected at least 0 but was -1");
        RowMask mask = masked.valid().orElseThrow();
        assertThat(mask.count()).isEqualTo(1);
        assertThat(mask.valid(0)).isTrue();
        assertThatThrownBy(() -> mask.valid(2)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void aClosedLayerIsOver() {
        MoeLayer closed = layer.withShared(SharedBranch.of(wide, new WeightedMerge()));
        assertThat(closed.shared()).isPresent();
        assertThat(closed.router().experts()).isEqualTo(3);
        assertThat(closed.experts()).isSameAs(experts);
        assertThat(closed.capacity()).isEqualTo(Capacity.dropless());
        closed.close();
        closed.close();
        assertThatThrownBy(() -> closed.apply(tokens)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> layer.forward(tokens).coefficients().shared(0, 0))
                .isInstanceOf(IllegalStateException.class);
    }
}
