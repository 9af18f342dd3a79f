package org.moe4j.router.analysis.intervention;

import java.util.Arrays;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Parameters;

/** A router whose assignments to masked experts are removed. */
final class MaskedRouting extends MaskedRouter {
    private final Router router;
    private final ExpertMask mask;
    private final RemovedWeight rule;

    MaskedRouting(Router router, ExpertMask mask, RemovedWeight rule) {
        super(router, mask);
        this.router = router;
        this.mask = mask;
        this.rule = rule;
    }

    @Override
    public Routing routing(Matrix tokens, RoutingContext context) {
        Routing all = router.routing(tokens, context);
        int[] offsets = new int[all.tokens() + 1];
        int[] experts = new int[all.slots()];
        double[] weights = new double[all.slots()];
        int slots = 0;
        for (int t = 0; t < all.tokens(); t++) {
            double sum = 0;
            for (int rank = 0; rank < all.count(t); rank++) {
                sum += all.weight(t, rank);
                if (!mask.isMasked(all.expert(t, rank))) {
                    experts[slots] = all.expert(t, rank);
                    weights[slots++] = all.weight(t, rank);
                }
            }
            offsets[t + 1] = slots;
            if (rule == RemovedWeight.GIVEN_TO_OTHERS && slots - offsets[t] < all.count(t)) {
                scale(weights, offsets[t], slots, sum, t);
            }
        }
        return Routing.ofVarying(all.experts(), offsets, Arrays.copyOf(experts, slots), Arrays.copyOf(weights, slots));
    }

    /** Weights of the assignments that are left, so that they add up to a sum; where none is left, there is nothing to do. */
    private static void scale(double[] weights, int from, int to, double sum, int token) {
        double left = 0;
        for (int slot = from; slot < to; slot++) {
            left += weights[slot];
        }
        double factor = sum / left;
        if (from < to && !Double.isFinite(factor)) {
            throw new ArithmeticException("routing weights: expected a sum that can be scaled to " + sum + " but was "
                    + left + " for token " + token + "; use RemovedWeight.LOST");
        }
        for (int slot = from; slot < to; slot++) {
            weights[slot] *= factor;
        }
    }

    @Override
    public boolean fixedCount() {
        return router.fixedCount() && mask.left() == mask.experts();
    }

    @Override
    public boolean unitSum() {
        int masked = mask.experts() - mask.left();
        boolean everyTokenKeepsOne = router.fixedCount() && masked < router.topK();
        return router.unitSum() && (masked == 0 || (rule == RemovedWeight.GIVEN_TO_OTHERS && everyTokenKeepsOne));
    }

    @Override
    public Router withParameters(Parameters parameters) {
        return new MaskedRouting(router.withParameters(parameters), mask, rule);
    }

    @Override
    public String toString() {
        return router + " with " + mask + " after the choice, removed weight " + rule;
    }
}
