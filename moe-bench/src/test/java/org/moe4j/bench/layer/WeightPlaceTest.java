package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.router.ExpertSelection;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** One expert per token on average is not one expert per token. */
class WeightPlaceTest {
    @Test
    void weightsOnTheInputAreRefusedWhereATokenMayHaveSeveralExperts() {
        Backend backend = ReferenceBackend.instance();
        RouterConfig config = RouterConfig.topK(2, 1)
                .withSelection(new ExpertSelection.ExpertChoice(RowLimit.rows(3), CapacityScope.batch()));
        try (MoeLayer layer = MoeLayer.of(
                TopKRouter.random(config, 4, backend, 1), SwiGluExperts.random(new ExpertShape(2, 4, 5), backend, 2))) {
            assertThatThrownBy(() -> layer.withWeightPlace(WeightPlace.INPUT))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("experts.weightPlace: expected output (a number of experts that varies) but was input;"
                            + " a weight on the input takes one expert per token");
        }
    }
}
