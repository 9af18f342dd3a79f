package org.moe4j.router.analysis.intervention;

import java.util.OptionalInt;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Parameters;

/** Another router with a mask. */
abstract class MaskedRouter implements Router {
    private final Router router;

    MaskedRouter(Router router, ExpertMask mask) {
        mask.requireFits(router);
        this.router = router;
    }

    @Override
    public final RouterPass route(Matrix tokens, RoutingContext context) {
        return new UntrainedPass(routing(tokens, context));
    }

    @Override
    public final int experts() {
        return router.experts();
    }

    @Override
    public final OptionalInt tokenWidth() {
        return router.tokenWidth();
    }

    @Override
    public final int topK() {
        return router.topK();
    }

    @Override
    public boolean fixedCount() {
        return router.fixedCount();
    }

    @Override
    public boolean unitSum() {
        return router.unitSum();
    }

    @Override
    public final double scale() {
        return router.scale();
    }

    @Override
    public final Parameters parameters() {
        return router.parameters();
    }

    @Override
    public final void close() {
        router.close();
    }
}
