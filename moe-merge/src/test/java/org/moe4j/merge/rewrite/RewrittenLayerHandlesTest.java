package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.testing.standin.CountingBackend;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;

/** A rewritten layer has handles of its own, and nothing stays behind when it is not made. */
class RewrittenLayerHandlesTest {
    private static final int HIDDEN = 3;
    private static final ActiveWidths WIDTHS = new ActiveWidths(1, 2, 2);

    private final CountingBackend counting = new CountingBackend();
    private final Backend backend = counting.backend();
    private MoeLayer layer;

    @BeforeEach
    void make() {
        Experts experts = bank(2, 2);
        LatentProjections latent;
        try (Matrix down = matrix(2, HIDDEN);
                Matrix up = matrix(HIDDEN, 2)) {
            latent = LatentProjections.of(down, up);
        }
        layer = MoeLayer.of(router(2, 1), experts, latent)
                .withShared(SharedBranch.of(bank(1, HIDDEN), ScaledMerge.activeMean(1)));
    }

    @AfterEach
    void closeAll() {
        layer.close();
        assertThat(counting.open()).isZero();
    }

    private Matrix matrix(int rows, int columns) {
        return Initializer.normal(1).draw(backend, rows, columns, 5L * rows + columns);
    }

    private SoftmaxRouter router(int experts, int topK) {
        return SoftmaxRouter.of(matrix(experts, HIDDEN), topK, 1);
    }

    private Experts bank(int experts, int hidden) {
        return FeedForwardExperts.random(new ExpertShape(experts, hidden, 2, new Activation.Relu(), true), backend, 1);
    }

    /** Lets each call of the backend fail in turn, then lets the work be done. */
    private void check(Supplier<MoeLayer> work) {
        int before = counting.open();
        int calls = 0;
        for (boolean done = false; !done; calls++) {
            counting.failAfter(calls);
            try {
                MoeLayer result = work.get();
                done = true;
                counting.heal();
                assertThat(counting.open()).isGreaterThan(before);
                result.close();
            } catch (CountingBackend.Failure failure) {
                assertThat(counting.open())
                        .as("handles after a failure of call %d", calls)
                        .isEqualTo(before);
            }
            assertThat(counting.open()).isEqualTo(before);
        }
        assertThat(calls).isGreaterThan(10);
    }

    @Test
    void ofAConventionRewrite() {
        check(() -> ConventionRewrite.of(layer, ScaledMerge.olmo(WIDTHS)).layer());
        try (SoftmaxRouter twice = SoftmaxRouter.of(matrix(2, HIDDEN), 1, 2)) {
            check(() -> ConventionRewrite.of(layer, twice, ScaledMerge.sum()).layer());
        }
    }

    @Test
    void ofASplit() {
        double[] rows = ((SoftmaxRouter) layer.router()).weight().toArray();
        double[] repeated = new double[2 * rows.length];
        for (int i = 0; i < repeated.length; i++) {
            repeated[i] = rows[i / HIDDEN / 2 * HIDDEN + i % HIDDEN];
        }
        try (SoftmaxRouter inherited = SoftmaxRouter.of(backend.matrix(4, HIDDEN, repeated), 2, 1)) {
            check(() -> RoutedExpertSplit.of(layer, 2, inherited, 0.5).layer());
        }
    }

    @Test
    void ofWhatIsRefused() {
        int before = counting.open();
        assertThatThrownBy(() -> ConventionRewrite.of(layer, ScaledMerge.scaled(1e-160, 1)))
                .isInstanceOf(IllegalArgumentException.class);
        List<Experts> none = List.of();
        MoeLayer wrong = layer.withShared(new SharedBranch(none, ScaledMerge.sum()));
        try (SoftmaxRouter own = router(4, 2)) {
            assertThatThrownBy(() -> RoutedExpertSplit.of(wrong, 2, own, 0.5))
                    .isInstanceOf(IllegalArgumentException.class);
        }
        assertThat(counting.open()).isEqualTo(before);
    }

    /** The parts behind the one that overflows are already cut then. */
    @Test
    void ofASplitThatOverflows() {
        SoftmaxRouter router = router(2, 1);
        double[] rows = router.weight().toArray();
        double[] twice = new double[2 * rows.length];
        for (int i = 0; i < twice.length; i++) {
            twice[i] = rows[i / HIDDEN / 2 * HIDDEN + i % HIDDEN];
        }
        Initializer huge = Initializer.normal(1e307);
        ExpertShape shape = new ExpertShape(2, HIDDEN, 2, new Activation.Relu(), false);
        try (MoeLayer far = MoeLayer.of(router, FeedForwardExperts.random(shape, backend, 1, huge, huge));
                Matrix repeated = backend.matrix(4, HIDDEN, twice)) {
            int before = counting.open();
            SoftmaxRouter inherited = SoftmaxRouter.of(repeated, 2, 0.02);
            assertThatThrownBy(() -> RoutedExpertSplit.of(far, 2, inherited, 0.01))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("experts.0.down: expected numbers that stay finite times 100.0 but was ");
            assertThat(counting.open()).isEqualTo(before);
        }
    }
}
