package org.moe4j.router.trace;

import java.util.Objects;
import java.util.Optional;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.router.analysis.LogitSource;
import org.moe4j.router.analysis.RoutingSource;

/**
 * What was recorded of one layer.
 *
 * @param routing experts and weights of its tokens, in the order of the calls
 * @param logits of the same tokens; empty when they were not recorded.
 */
public record RecordedLayer(Routing routing, Optional<LogitSource> logits) {
    /**
     * Checks that both are of the same tokens and experts.
     *
     * @param routing experts and weights of its tokens
     * @param logits of the same tokens; empty when they were not recorded
     * @throws IllegalArgumentException for logits of another number of tokens or experts
     */
    public RecordedLayer {
        logits.ifPresent(source -> {
            Require.count("logits", source.tokens(), routing.tokens(), "tokens (of the routing)");
            Require.count("logits", source.experts(), routing.experts(), "experts (of the routing)");
        });
    }

    /**
     * A layer without logits.
     *
     * @param routing experts and weights of its tokens
     * @return the layer
     */
    public static RecordedLayer of(Routing routing) {
        return new RecordedLayer(routing, Optional.empty());
    }

    /**
     * The experts, for measures of a routing.
     *
     * @return a source of its own
     */
    public RoutingSource source() {
        return RoutingSource.of(routing);
    }

    /**
     * Some of the tokens, as those of one call.
     *
     * @param from 0 ≤ from
     * @param count tokens, {@code from + count} ≤ T
     * @return their experts and weights
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public Routing part(int from, int count) {
        Objects.checkFromIndexSize(from, count, routing.tokens());
        RecordedSlots part = new RecordedSlots();
        for (int t = from; t < from + count; t++) {
            part.add(routing, t);
        }
        return part.routing(routing.experts(), routing.topK());
    }
}
