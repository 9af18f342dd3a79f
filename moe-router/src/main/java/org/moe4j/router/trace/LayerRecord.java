package org.moe4j.router.trace;

import java.util.Arrays;
import java.util.Optional;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RouterPass;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.router.analysis.LogitSource;
import org.moe4j.router.loss.RoutedTokens;

/** The record of one layer. Several threads may add to it. */
final class LayerRecord {
    private final String layer;
    private final int experts;
    private final int topK;
    private final MaskedRows maskedRows;
    private final boolean withLogits;
    private RecordedSlots slots = new RecordedSlots();
    private double[] logits = new double[0];

    LayerRecord(String layer, Router router, MaskedRows maskedRows, boolean withLogits) {
        this.layer = layer;
        experts = router.experts();
        topK = router.topK();
        this.maskedRows = maskedRows;
        this.withLogits = withLogits;
    }

    boolean withLogits() {
        return withLogits;
    }

    void requireFits(Router router) {
        Require.count("router", router.experts(), experts, "experts (of layer " + layer + " before)");
    }

    void add(RouterPass pass, RoutingContext context) {
        if (!withLogits) {
            add(pass.routing(), new double[0], context);
        } else if (pass instanceof RoutedTokens tokens) {
            add(pass.routing(), tokens.logits(), context);
        } else {
            throw Require.expected(
                    "router of layer " + layer,
                    "one whose passes have logits (RoutedTokens)",
                    pass.getClass().getSimpleName(),
                    "record without logits");
        }
    }

    /** The rows of a call; {@code of} has T·E numbers or none. */
    synchronized void add(Routing routing, double[] of, RoutingContext context) {
        for (int t = 0; t < routing.tokens(); t++) {
            int row = t;
            boolean counts = maskedRows == MaskedRows.RECORDED
                    || context.valid().map(mask -> mask.valid(row)).orElse(true);
            if (counts) {
                if (withLogits) {
                    addLogits(of, t);
                }
                slots.add(routing, t);
            }
        }
    }

    private void addLogits(double[] of, int token) {
        int at = Math.multiplyExact(slots.tokens(), experts);
        int needed = Math.addExact(at, experts);
        if (logits.length < needed) {
            logits = Arrays.copyOf(logits, RecordedSlots.grown(needed));
        }
        System.arraycopy(of, token * experts, logits, at, experts);
    }

    synchronized RecordedLayer taken(boolean forget) {
        Routing routing = slots.routing(experts, topK);
        Optional<LogitSource> source = withLogits
                ? Optional.of(LogitSource.of(experts, Arrays.copyOf(logits, routing.tokens() * experts)))
                : Optional.empty();
        if (forget) {
            slots = new RecordedSlots();
            logits = new double[0];
        }
        return new RecordedLayer(routing, source);
    }
}
