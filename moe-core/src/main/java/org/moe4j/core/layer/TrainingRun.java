package org.moe4j.core.layer;

import java.util.Optional;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Admission;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.internal.Unfinished;

/** A run that keeps what backward needs. */
record TrainingRun(LayerParts parts, ParameterShapes shapes) {
    MoePass run(Matrix tokens, RoutingContext context) {
        parts.requireTokens(tokens, context);
        try (Unfinished made = new Unfinished()) {
            Optional<Matrix> factors = parts.jitterFactors(tokens, context).map(made::add);
            Matrix kept = made.add(kept(tokens, factors));
            RouterPass router = parts.router().route(kept, context);
            DispatchPlan plan =
                    DispatchPlan.of(Admission.of(router.routing(), parts.capacity(), context.sequenceLengths()));
            RoutedPass routed = made.add(parts.routed().forward(kept, plan));
            Optional<SharedPass> shared = parts.shared().map(branch -> branch.forward(kept, routed.output()));
            MoePass pass = new MoePass(kept, factors, parts.router(), router, routed, shared, shapes);
            made.keep();
            return pass;
        }
    }

    /** Router and merge read the tokens again in backward, when the caller's handle may be closed or, if it is a buffer, filled with
     * something else. */
    private static Matrix kept(Matrix tokens, Optional<Matrix> factors) {
        return factors.isEmpty() && tokens.isBuffer()
                ? TokenRows.copy(tokens, 0, tokens.rows())
                : TokenJitter.seen(tokens, factors);
    }
}
