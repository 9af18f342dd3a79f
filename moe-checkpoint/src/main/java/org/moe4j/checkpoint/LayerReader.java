package org.moe4j.checkpoint;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.moe4j.checkpoint.block.MoeBlock;
import org.moe4j.checkpoint.block.RmsNorm;
import org.moe4j.checkpoint.layout.BlockNorms;
import org.moe4j.checkpoint.layout.LayerPart;
import org.moe4j.checkpoint.layout.LayerTensors;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.layer.LatentProjections;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.preset.Preset;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.MergeConvention;
import org.moe4j.merge.SharedScore;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKRouter;

/** Makes one layer from its tensors. What it makes on the way is held, and given up when a tensor cannot be read. */
final class LayerReader {
    private final LayerTensors tensors;
    private final LayerNeeds needs;
    private final Backend backend;
    private final Runnable expertRead;

    /**
     * A reader.
     *
     * @param expertRead told of each routed expert
     */
    LayerReader(LayerTensors tensors, LayerNeeds needs, Backend backend, Runnable expertRead) {
        this.tensors = tensors;
        this.needs = needs;
        this.backend = backend;
        this.expertRead = expertRead;
    }

    MoeLayer read() throws IOException {
        Preset preset = needs.preset();
        try (Unfinished made = new Unfinished()) {
            TopKRouter router = made.add(router());
            Experts experts = made.add(routed());
            MoeLayer layer;
            if (needs.parts().contains(LayerPart.LATENT_DOWN)) {
                layer = MoeLayer.of(router, experts, made.add(latent()));
            } else {
                layer = MoeLayer.of(router, experts);
            }
            if (needs.parts().contains(LayerPart.SHARED_UP)
                    || !preset.section("merge").isEmpty()) {
                List<Experts> shared = new ArrayList<>();
                if (needs.parts().contains(LayerPart.SHARED_UP)) {
                    shared.add(made.add(shared()));
                }
                layer = layer.withShared(new SharedBranch(shared, made.add(merge())));
            }
            made.keep();
            return layer;
        }
    }

    /** The layer between the norms of its block. */
    MoeBlock readBlock(BlockNorms norms) throws IOException {
        try (Unfinished made = new Unfinished()) {
            MoeBlock block = MoeBlock.of(made.add(read()));
            if (norms.parts().contains(LayerPart.NORM_BEFORE)) {
                block = block.withNormBefore(made.add(norm(LayerPart.NORM_BEFORE, norms)));
            }
            if (norms.parts().contains(LayerPart.NORM_BEHIND)) {
                block = block.withNormBehind(made.add(norm(LayerPart.NORM_BEHIND, norms)));
            }
            made.keep();
            return block;
        }
    }

    private RmsNorm norm(LayerPart part, BlockNorms norms) throws IOException {
        try (Matrix weight = matrix(part, 0)) {
            return RmsNorm.of(weight, norms.epsilon(), norms.offset());
        }
    }

    /** One routed expert. */
    Parameters readExpert(int expert) throws IOException {
        return parameters(LayerNeeds.routed(ExpertShape.routed(needs.preset())), expert);
    }

    TopKRouter router() throws IOException {
        RouterConfig config = RouterConfig.from(needs.preset());
        try (Matrix weight = matrix(LayerPart.ROUTER_WEIGHT, 0)) {
            TopKRouter router;
            if (config.logitBias()) {
                try (Matrix bias = matrix(LayerPart.ROUTER_BIAS, 0)) {
                    router = TopKRouter.of(config, weight, bias);
                }
            } else {
                router = TopKRouter.of(config, weight);
            }
            if (!config.selectionBias()) {
                return router;
            }
            try (router) {
                double[] bias = new double[config.experts()];
                tensors.rows(LayerPart.SELECTION_BIAS, 0).read(0, bias);
                return router.withSelectionBias(SelectionBias.of(bias));
            }
        }
    }

    private Experts routed() throws IOException {
        ExpertShape shape = ExpertShape.routed(needs.preset());
        List<Parameters> experts = new ArrayList<>();
        try (Unfinished made = new Unfinished()) {
            for (int e = 0; e < shape.count(); e++) {
                experts.add(made.add(parameters(LayerNeeds.routed(shape), e)));
                expertRead.run();
            }
            return FeedForwardExperts.of(shape.activation(), experts);
        }
    }

    Experts shared() throws IOException {
        ExpertShape shape = ExpertShape.shared(needs.preset()).get(0);
        try (Parameters weights = parameters(LayerNeeds.shared(shape), 0)) {
            return FeedForwardExperts.of(shape.activation(), List.of(weights));
        }
    }

    /** The parts of an expert, by the names that its parameters have. */
    private Parameters parameters(Map<String, LayerPart> parts, int expert) throws IOException {
        Map<String, Matrix> weights = new LinkedHashMap<>();
        try (Unfinished made = new Unfinished()) {
            for (Map.Entry<String, LayerPart> part : parts.entrySet()) {
                weights.put(part.getKey(), made.add(matrix(part.getValue(), expert)));
            }
            made.keep();
            return Parameters.of(weights);
        }
    }

    LatentProjections latent() throws IOException {
        try (Matrix down = matrix(LayerPart.LATENT_DOWN, 0);
                Matrix up = matrix(LayerPart.LATENT_UP, 0)) {
            return LatentProjections.of(down, up);
        }
    }

    MergeConvention merge() throws IOException {
        if (!needs.parts().contains(LayerPart.MERGE_GATE)) {
            return MergeConvention.from(needs.preset(), backend, 0);
        }
        try (Matrix gate = matrix(LayerPart.MERGE_GATE, 0)) {
            return new GatedMerge(gate, SharedScore.SIGMOID);
        }
    }

    private Matrix matrix(LayerPart part, int expert) throws IOException {
        return backend.matrix(tensors.rowsOf(part), tensors.columnsOf(part), tensors.rows(part, expert));
    }
}
