package org.moe4j.router.analysis.intervention;

import java.util.List;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.router.TopKRouter;

/**
 * One change to a layer whose weights stay as they are; banks are shared, never copied, and nothing is trained again. Where the merge of a
 * layer does not fit what is changed, as a convention for weights of unit sum, the change is refused with the merge's own message.
 */
public sealed interface LayerIntervention {
    /**
     * The output of the changed layer, in the plain context.
     *
     * @param layer stays as it is
     * @param tokens (T×D), finite
     * @return (T×D), the caller's
     * @throws IllegalArgumentException for a layer that cannot be changed so
     */
    Matrix apply(MoeLayer layer, Matrix tokens);

    /**
     * How far the output moves.
     *
     * @param layer stays as it is
     * @param tokens (T×D), finite
     * @return from the layer's output to that of the changed layer
     * @throws IllegalArgumentException for a layer that cannot be changed so
     */
    default OutputChange change(MoeLayer layer, Matrix tokens) {
        try (Matrix before = layer.apply(tokens);
                Matrix after = apply(layer, tokens)) {
            return OutputChange.between(before, after);
        }
    }

    private static TopKRouter topKRouter(MoeLayer layer) {
        if (layer.router() instanceof TopKRouter router) {
            return router;
        }
        throw Require.expected("layer.router", "a TopKRouter", layer.router());
    }

    private static SharedBranch sharedBranch(MoeLayer layer) {
        return layer.shared()
                .filter(branch -> !branch.experts().isEmpty())
                .orElseThrow(() -> Require.expected("layer", "one with a shared expert", "one without"));
    }

    /**
     * Masked experts cannot be chosen, and the next best take their places: {@link ExpertMask#beforeChoice}.
     *
     * @param mask of the layer's experts
     */
    record MaskBeforeChoice(ExpertMask mask) implements LayerIntervention {
        @Override
        public Matrix apply(MoeLayer layer, Matrix tokens) {
            return layer.withRouter(mask.beforeChoice(topKRouter(layer))).apply(tokens);
        }
    }

    /**
     * Experts are chosen as before, and assignments to masked ones removed: {@link ExpertMask#afterChoice}.
     *
     * @param mask of the layer's experts
     * @param weights what becomes of the weights of the others
     */
    record MaskAfterChoice(ExpertMask mask, RemovedWeight weights) implements LayerIntervention {
        @Override
        public Matrix apply(MoeLayer layer, Matrix tokens) {
            Router masked = mask.afterChoice(layer.router(), weights);
            return layer.withRouter(masked).apply(tokens);
        }
    }

    /**
     * Another number of experts for each token, with the weights that the router's conventions give to so many.
     *
     * @param topK K in 1..E
     */
    record OtherTopK(int topK) implements LayerIntervention {
        @Override
        public Matrix apply(MoeLayer layer, Matrix tokens) {
            try (TopKRouter other = topKRouter(layer).withTopK(topK)) {
                return layer.withRouter(other).apply(tokens);
            }
        }
    }

    /** The shared experts return zeros. The routed output is multiplied as before: the merge is the same. */
    record WithoutShared() implements LayerIntervention {
        @Override
        public Matrix apply(MoeLayer layer, Matrix tokens) {
            SilentShared silent = new SilentShared(sharedBranch(layer));
            return layer.withShared(new SharedBranch(List.of(), silent)).apply(tokens);
        }
    }

    /**
     * Another shared branch, as the experts of another layer, or its own with another merge.
     *
     * @param branch stays the caller's
     */
    record OtherShared(SharedBranch branch) implements LayerIntervention {
        @Override
        public Matrix apply(MoeLayer layer, Matrix tokens) {
            return layer.withShared(branch).apply(tokens);
        }
    }
}
