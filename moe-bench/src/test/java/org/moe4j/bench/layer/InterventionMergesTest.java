package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;
import org.moe4j.router.analysis.intervention.ExpertMask;
import org.moe4j.router.analysis.intervention.LayerIntervention;
import org.moe4j.router.analysis.intervention.LayerIntervention.MaskAfterChoice;
import org.moe4j.router.analysis.intervention.LayerIntervention.MaskBeforeChoice;
import org.moe4j.router.analysis.intervention.LayerIntervention.OtherShared;
import org.moe4j.router.analysis.intervention.LayerIntervention.OtherTopK;
import org.moe4j.router.analysis.intervention.LayerIntervention.WithoutShared;
import org.moe4j.router.analysis.intervention.RemovedWeight;

/** Interventions on a layer whose merge presumes K, the widths and weights of unit sum. */
class InterventionMergesTest {
    private static final ReferenceBackend BACKEND = ReferenceBackend.instance();
    private static final ActiveWidths WIDTHS = new ActiveWidths(3, 4, 5);

    private final SwiGluExperts shared = SwiGluExperts.random(new ExpertShape(1, 6, 5), BACKEND, 1);
    private final MoeLayer routed = MoeLayer.of(
            TopKRouter.random(RouterConfig.topK(8, 3).withRenormalization(new Renormalization.Sum()), 6, BACKEND, 2),
            SwiGluExperts.random(new ExpertShape(8, 6, 4), BACKEND, 3));
    private final MoeLayer layer = routed.withShared(SharedBranch.of(shared, ScaledMerge.olmo(WIDTHS)));
    private final Matrix tokens = Initializer.normal(1).draw(BACKEND, 10, 6, 4);

    private void refuses(LayerIntervention change, String message) {
        assertThatThrownBy(() -> change.apply(layer, tokens))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message);
    }

    @Test
    void whatTheMergePresumesMayNotChange() {
        ExpertMask one = ExpertMask.without(8, 0);
        ExpertMask three = ExpertMask.without(8, 0, 1, 2);
        refuses(new OtherTopK(4), "(merge.convention = olmo)");
        refuses(new MaskAfterChoice(one, RemovedWeight.LOST), "weights that sum to 1 (merge.convention = olmo)");
        refuses(new MaskAfterChoice(three, RemovedWeight.GIVEN_TO_OTHERS), "weights that sum to 1");
        new MaskAfterChoice(one, RemovedWeight.GIVEN_TO_OTHERS)
                .apply(layer, tokens)
                .close();
        new MaskBeforeChoice(three).apply(layer, tokens).close();
    }

    @Test
    void aSilentBranchIsTheRoutedOneWithItsFactor() {
        try (Matrix silent = new WithoutShared().apply(layer, tokens);
                Matrix alone = routed.apply(tokens)) {
            for (int t = 0; t < 10; t++) {
                for (int d = 0; d < 6; d++) {
                    assertThat(silent.get(t, d)).isCloseTo(3 * alone.get(t, d), within(1e-12));
                }
            }
        }
    }

    @Test
    void aBranchOfAnotherLayerComesWithItsMerge() {
        SwiGluExperts other = SwiGluExperts.random(new ExpertShape(1, 6, 7), BACKEND, 9);
        refuses(new OtherShared(SharedBranch.of(other, ScaledMerge.olmo(WIDTHS))), "(merge.convention = olmo)");
        LayerIntervention fits = new OtherShared(SharedBranch.of(other, ScaledMerge.olmo(new ActiveWidths(3, 4, 7))));
        assertThat(fits.change(layer, tokens).relative()).isPositive();
    }
}
