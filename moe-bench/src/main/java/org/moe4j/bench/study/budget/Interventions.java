package org.moe4j.bench.study.budget;

import java.util.List;
import java.util.OptionalDouble;
import org.moe4j.bench.study.Examples;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.TopKRouter;
import org.moe4j.router.analysis.intervention.LayerIntervention;

/**
 * Losses of a trained student after one change, everything else being as training left it; nothing is trained again.
 *
 * @param sharedOff {@code r = K·p, s = 0}: the shared branch adds nothing; empty without a shared expert
 * @param routedOff {@code r = 0, s = 1}: the routed branch adds nothing
 * @param routedInstead {@code r = (K + 1)·p, s = 0} with a router that chooses K + 1: one routed expert more in place of the
 *     shared one, the active arithmetic being the same; empty without a shared expert
 */
public record Interventions(OptionalDouble sharedOff, double routedOff, OptionalDouble routedInstead) {
    /** Tries all of them. A student's merge is {@code r = K·p, s = 1}. */
    static Interventions on(MoeLayer student, Examples heldOut) {
        SharedBranch shared = student.shared().orElseThrow();
        LayerIntervention routedOff =
                new LayerIntervention.OtherShared(new SharedBranch(shared.experts(), ScaledMerge.scaled(0, 1)));
        if (shared.experts().isEmpty()) {
            return new Interventions(OptionalDouble.empty(), loss(routedOff, student, heldOut), OptionalDouble.empty());
        }
        return new Interventions(
                OptionalDouble.of(loss(new LayerIntervention.WithoutShared(), student, heldOut)),
                loss(routedOff, student, heldOut),
                OptionalDouble.of(routedInstead(student, heldOut)));
    }

    private static double routedInstead(MoeLayer student, Examples heldOut) {
        int topK = student.router().topK() + 1;
        int width = student.experts().shape().intermediateSize();
        ScaledMerge merge = ScaledMerge.olmo(new ActiveWidths(topK, width, 0));
        try (TopKRouter router = ((TopKRouter) student.router()).withTopK(topK)) {
            MoeLayer routed = MoeLayer.of(router, student.experts()).withShared(new SharedBranch(List.of(), merge));
            try (Matrix output = routed.apply(heldOut.tokens())) {
                return heldOut.loss(output);
            }
        }
    }

    private static double loss(LayerIntervention change, MoeLayer student, Examples heldOut) {
        try (Matrix output = change.apply(student, heldOut.tokens())) {
            return heldOut.loss(output);
        }
    }
}
