package org.moe4j.bench.study.budget;

import java.util.List;
import java.util.OptionalDouble;
import org.moe4j.bench.study.Examples;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/**
 * Losses of a trained student after one change, everything else being as training left it; nothing is trained again.
 *
 * @param sharedOff {@code r = K·p, s = 0}: the shared branch adds nothing; empty without a shared expert
 * @param routedOff {@code r = 0, s = 1}: the routed branch adds nothing
 * @param routedInstead {@code r = (K + 1)·p, s = 0} with a router that chooses K + 1: one routed expert more in place of the
 *     shared one, the active arithmetic being the same; empty without a shared expert
 */
public record Interventions(OptionalDouble sharedOff, double routedOff, OptionalDouble routedInstead) {
    /** Tries all of them. */
    static Interventions on(MoeLayer student, Examples heldOut) {
        SharedBranch shared = student.shared().orElseThrow();
        int topK = student.router().topK();
        if (shared.experts().isEmpty()) {
            return new Interventions(
                    OptionalDouble.empty(),
                    loss(student, shared, ScaledMerge.scaled(0, 1), heldOut),
                    OptionalDouble.empty());
        }
        return new Interventions(
                OptionalDouble.of(loss(student, shared, ScaledMerge.scaled(topK, 0), heldOut)),
                loss(student, shared, ScaledMerge.scaled(0, 1), heldOut),
                OptionalDouble.of(routedInstead(student, heldOut)));
    }

    /** The layers made here share the student's banks, so that they are not closed. */
    private static double loss(MoeLayer student, SharedBranch shared, ScaledMerge merge, Examples heldOut) {
        return loss(student.withShared(new SharedBranch(shared.experts(), merge)), heldOut);
    }

    private static double routedInstead(MoeLayer student, Examples heldOut) {
        RouterConfig config = ((TopKRouter) student.router()).config();
        int topK = config.topK() + 1;
        int width = student.experts().shape().intermediateSize();
        try (Parameters parameters = student.router().parameters();
                TopKRouter router = TopKRouter.of(config.withTopK(topK), parameters.get("weight"))) {
            ScaledMerge merge = ScaledMerge.olmo(new ActiveWidths(topK, width, 0));
            return loss(MoeLayer.of(router, student.experts()).withShared(new SharedBranch(List.of(), merge)), heldOut);
        }
    }

    private static double loss(MoeLayer layer, Examples heldOut) {
        try (Matrix output = layer.apply(heldOut.tokens())) {
            return heldOut.loss(output);
        }
    }
}
