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
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;

/** What fits together and what does not. */
class LayerPartsTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    private final SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(3, 2, 5), BACKEND, 1);
    private final LatentProjections latent = LatentProjections.random(4, 2, BACKEND, 2);

    private static Router router(int topK, int width) {
        return new LinearRouter(BACKEND.buffer(3, width), new int[][] {{0, 1}}, topK);
    }

    @Test
    void theRouterSeesTheFullWidth() {
        MoeLayer layer = MoeLayer.of(router(2, 4), experts, latent);
        assertThat(layer.latent()).contains(latent);
        assertThat(layer.parameters().names()).contains("latent.down", "latent.up");
        assertThatThrownBy(() -> MoeLayer.of(router(2, 2), experts, latent))
                .hasMessage("router: expected 4 as hidden size (of the latent projections) but was 2");
        assertThatThrownBy(() -> MoeLayer.of(router(2, 4), experts))
                .hasMessage("router: expected 2 as hidden size (of the experts) but was 4");
        Matrix narrow = BACKEND.buffer(1, 2);
        assertThatThrownBy(() -> layer.apply(narrow))
                .hasMessage("tokens: expected 4 columns (hidden size of the latent projections) but was 2");
        SwiGluExperts shared = SwiGluExperts.random(new ExpertShape(1, 2, 5), BACKEND, 1);
        assertThatThrownBy(() -> layer.withShared(SharedBranch.of(shared, new WeightedMerge())))
                .hasMessage("shared[0]: expected 4 as hidden size (of the layer) but was 2");
    }

    @Test
    void projectionsMustFit() {
        assertThatThrownBy(() -> MoeLayer.of(router(2, 4), experts, LatentProjections.random(4, 3, BACKEND, 1)))
                .hasMessage("latent: expected 2 as latent size (hidden size of the experts) but was 3");
        assertThatThrownBy(() ->
                        MoeLayer.of(router(2, 4), experts, LatentProjections.random(4, 2, Nd4jBackend.float32(), 1)))
                .hasMessageStartingWith("latent.down: expected a matrix of ReferenceBackend");
        Matrix down = BACKEND.buffer(2, 4);
        assertThatThrownBy(() -> LatentProjections.of(down, down))
                .hasMessage("up: expected 4 x 2 (transposed shape of down) but was 2 x 4");
        assertThatThrownBy(() -> LatentProjections.random(4, 0, BACKEND, 1))
                .hasMessage("latentSize: expected at least 1 but was 0");
        assertThatThrownBy(() -> latent.withParameters(Parameters.of("down", down)))
                .hasMessage("parameters: expected a matrix named up but was a set without it");
        Parameters wide = Parameters.of("down", BACKEND.buffer(3, 4)).and(Parameters.of("up", BACKEND.buffer(4, 3)));
        assertThatThrownBy(() -> latent.withParameters(wide))
                .hasMessage("down: expected 2 x 4 (shape of the one it replaces) but was 3 x 4");
    }

    @Test
    void aWeightOnTheInputTakesOneExpertPerToken() {
        MoeLayer one = MoeLayer.of(router(1, 4), experts, latent).withWeightPlace(WeightPlace.INPUT);
        assertThat(one.weightPlace()).isEqualTo(WeightPlace.INPUT);
        assertThatThrownBy(() -> MoeLayer.of(router(2, 4), experts, latent).withWeightPlace(WeightPlace.INPUT))
                .hasMessage("experts.weightPlace: expected output (router.topK = 2) but was input;"
                        + " a weight on the input takes one expert per token");
        assertThatThrownBy(() -> one.withRouter(router(2, 4))).hasMessageContaining("router.topK = 2");
    }

    @Test
    void otherParametersChangeTheProjectionsToo() {
        MoeLayer layer = MoeLayer.of(router(1, 4), experts, latent);
        try (Parameters all = layer.parameters();
                MoeLayer same = layer.withParameters(all)) {
            assertThat(same.latent().orElseThrow()).isNotSameAs(latent);
            assertThat(same.parameters().get("latent.down").toArray())
                    .isEqualTo(all.get("latent.down").toArray());
        }
        layer.close();
        assertThatThrownBy(() -> latent.parameters()).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void aLayerSaysWhatItIs() {
        MoeLayer layer = MoeLayer.of(router(1, 4), experts, latent)
                .withCapacity(Capacity.dropless())
                .withWeightPlace(WeightPlace.INPUT)
                .withTokenJitter(new TokenJitter(.1))
                .withShared(SharedBranch.of(
                        SwiGluExperts.random(new ExpertShape(1, 4, 7), BACKEND, 1), new WeightedMerge()));
        assertThat(layer.toString())
                .startsWith("MoeLayer[D 4, top 1 of 3 experts, F 5, SwiGlu[], latent 2, shared 7, merge ")
                .contains("weights on INPUT, TokenJitter[epsilon=0.1]")
                .endsWith(BACKEND.name() + "]");
    }

    @Test
    void contextsAreChangedOneByOne() {
        RowMask mask = RowMask.of(new boolean[] {true, false, true});
        RoutingContext context =
                RoutingContext.plain().withValid(mask).withSequences(1, 2).withSeed(9);
        assertThat(context).isEqualTo(new RoutingContext(Optional.of(mask), List.of(1, 2), OptionalLong.of(9)));
        assertThat(RoutingContext.plain().noiseSeed()).isEmpty();
    }
}
