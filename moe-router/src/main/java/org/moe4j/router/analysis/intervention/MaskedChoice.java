package org.moe4j.router.analysis.intervention;

import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.SelectionBias;
import org.moe4j.router.TopKRouter;

/** A router that cannot choose masked experts. */
final class MaskedChoice extends MaskedRouter {
    private static final double LOWEST_LOGIT = -1e300; // its exponential is 0, and a few of them can be added
    private static final double LOWEST_BIAS = -1e290; // the largest that a bias may be

    private final TopKRouter router;
    private final ExpertMask mask;
    private final RouterConfig config;
    private final SelectionBias bias;

    MaskedChoice(TopKRouter router, ExpertMask mask) {
        super(router, mask);
        this.router = router;
        this.mask = mask;
        if (router.config().selection().wholeBatch()) {
            throw Require.expected(
                    "router",
                    "one that looks at one token at a time",
                    router.config().selection(),
                    "the mask may also be after the choice");
        }
        if (mask.left() < router.topK()) {
            throw Require.expected("mask", "at least " + router.topK() + " experts that are left (topK)", mask.left());
        }
        config = router.config().withSelectionBias(true);
        double[] values = router.selectionBias()
                .orElseGet(() -> SelectionBias.zeros(router.experts()))
                .values();
        for (int e = 0; e < values.length; e++) {
            values[e] = mask.isMasked(e) ? LOWEST_BIAS : values[e];
        }
        bias = SelectionBias.of(values);
    }

    @Override
    public Routing routing(Matrix tokens, RoutingContext context) {
        if (context.noiseSeed().isPresent()) {
            throw Require.expected("context.noiseSeed", "none (the mask is before the choice)", "a seed");
        }
        double[] logits = router.route(tokens, context).logits();
        for (int i = 0; i < logits.length; i++) {
            logits[i] = mask.isMasked(i % experts()) ? LOWEST_LOGIT : logits[i];
        }
        return checked(config.routing(logits, bias));
    }

    /** Kept groups may have too few experts left. */
    private Routing checked(Routing routing) {
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                if (mask.isMasked(routing.expert(t, rank))) {
                    throw new ArithmeticException("mask: expected " + topK()
                            + " experts that are left in the groups of token " + t + " but was " + rank
                            + "; the mask may also be after the choice");
                }
            }
        }
        return routing;
    }

    @Override
    public Router withParameters(Parameters parameters) {
        return new MaskedChoice(router.withParameters(parameters), mask);
    }

    @Override
    public String toString() {
        return router + " with " + mask + " before the choice";
    }
}
