package org.moe4j.core.layer;

import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Admission;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.internal.Unfinished;

/** A run that keeps nothing for backward, in chunks of tokens, so that the scratch of the experts does not grow with T. */
record InferenceRun(LayerParts parts) {
    /** Numbers of scratch that a run may need at once; it bounds the tokens of a chunk, by shapes alone. */
    private static final long SCRATCH_NUMBERS = 1L << 26;

    private static final int SMALLEST_CHUNK = 256;

    /** Tokens, context and output (T×D), checked; the output is a buffer. */
    void run(Matrix tokens, RoutingContext context, Matrix output) {
        try (Matrix seen = seen(tokens, context)) {
            Admission admission =
                    Admission.of(parts.router().routing(seen, context), parts.capacity(), context.sequenceLengths());
            int chunk = chunk();
            for (int from = 0; from < seen.rows(); from += chunk) {
                int to = Math.min(seen.rows(), from + chunk);
                run(seen, from, to, DispatchPlan.ofTokens(admission, from, to), output);
            }
        }
    }

    private void run(Matrix seen, int from, int to, DispatchPlan plan, Matrix output) {
        if (parts.shared().isEmpty() && parts.routed().isSum(plan)) {
            parts.routed().experts().applyCombined(seen, plan, output, from);
            return;
        }
        try (Matrix combined = parts.routed().apply(seen, from, to, plan);
                Matrix merged = merged(seen, from, to, combined)) {
            seen.backend().accumulate(0, output, from, merged);
        }
    }

    private Matrix seen(Matrix tokens, RoutingContext context) {
        if (parts.jitter().isEmpty()) {
            return tokens.share();
        }
        try (Unfinished factors = new Unfinished()) { // closes them in any case
            return TokenJitter.seen(tokens, parts.jitterFactors(tokens, context).map(factors::add));
        }
    }

    private Matrix merged(Matrix tokens, int from, int to, Matrix combined) {
        if (parts.shared().isEmpty()) {
            return combined.share();
        }
        try (Matrix part = TokenRows.of(tokens, from, to)) {
            return parts.shared().get().apply(part, combined);
        }
    }

    private int chunk() {
        ExpertShape shape = parts.routed().experts().shape();
        long perToken = (long) parts.router().topK() * (2L * shape.hiddenSize() + 3L * shape.intermediateSize());
        return (int) Math.min(Integer.MAX_VALUE, Math.max(SMALLEST_CHUNK, SCRATCH_NUMBERS / perToken));
    }
}
