package org.moe4j.bench.layer;

import java.util.List;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.preset.Preset;
import org.moe4j.merge.MergeConvention;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** A preset's layer as a user of the library makes it, with the numbers of a case in it. */
final class PresetLayer {
    private PresetLayer() {}

    static MoeLayer of(LayerCase c, Backend backend) {
        Preset preset =
                Preset.named(c.name()).scaledTo(c.sizes().hidden(), c.sizes().width());
        RouterConfig config = RouterConfig.from(preset);
        TopKRouter router = TopKRouter.random(config, c.sizes().hidden(), backend, 1);
        if (config.selectionBias()) {
            router = router.withSelectionBias(LibraryLayer.bias(c.router()));
        }
        try (MoeLayer layer = withShared(
                        preset,
                        backend,
                        routed(preset, router, backend)
                                .withWeightPlace(WeightPlace.from(preset))
                                .withCapacity(Capacity.from(preset)));
                Parameters parameters = LibraryLayer.parameters(c, backend)) {
            return layer.withParameters(parameters);
        }
    }

    private static MoeLayer routed(Preset preset, TopKRouter router, Backend backend) {
        Experts experts = FeedForwardExperts.random(ExpertShape.routed(preset), backend, 2);
        int width = ExpertShape.tokenWidth(preset);
        int latent = experts.shape().hiddenSize();
        return latent == width
                ? MoeLayer.of(router, experts)
                : MoeLayer.of(router, experts, LatentProjections.random(width, latent, backend, 5));
    }

    private static MoeLayer withShared(Preset preset, Backend backend, MoeLayer layer) {
        if (preset.section("merge").isEmpty()) {
            return layer;
        }
        List<Experts> shared = ExpertShape.shared(preset).stream()
                .map(shape -> (Experts) FeedForwardExperts.random(shape, backend, 3))
                .toList();
        return layer.withShared(new SharedBranch(shared, MergeConvention.from(preset, backend, 4)));
    }
}
