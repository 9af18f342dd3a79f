package org.moe4j.core.layer;

import java.util.OptionalInt;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.parameter.Parameters;

/** Port: decides which experts a token goes to, and with what weight. */
public interface Router extends AutoCloseable {
    /**
     * Routes tokens.
     *
     * @param tokens (T×D), finite
     * @param context what the router may need beside the tokens
     * @return the pass
     * @throws ArithmeticException when a logit is not finite, before anything is done with it
     */
    RouterPass route(Matrix tokens, RoutingContext context);

    /**
     * Routes tokens when nobody will go backward: the same routing, and nothing kept beside it.
     *
     * @param tokens (T×D), finite
     * @param context what the router may need beside the tokens
     * @return where the tokens go
     * @throws ArithmeticException when a logit is not finite
     */
    default Routing routing(Matrix tokens, RoutingContext context) {
        return route(tokens, context).routing();
    }

    /**
     * Number of experts it chooses from.
     *
     * @return E
     */
    int experts();

    /**
     * Width of the tokens it routes.
     *
     * @return D; empty for a router that takes any
     */
    default OptionalInt tokenWidth() {
        return OptionalInt.empty();
    }

    /**
     * Number of experts of a token.
     *
     * @return K
     */
    int topK();

    /**
     * Whether every token has exactly K experts, whatever the tokens and the seed.
     *
     * @return false for a router whose tokens may have fewer or more; true unless a router says otherwise
     */
    default boolean fixedCount() {
        return true;
    }

    /**
     * Whether the weights of every token add up to {@link #scale()}.
     *
     * @return true for a router that renormalises
     */
    boolean unitSum();

    /**
     * The router's own constant factor (a model's routed scale, as 2.5 in DeepSeek-V3).
     *
     * @return 1 for none
     */
    double scale();

    /**
     * The parameters; the handles belong to the caller.
     *
     * @return named, as {@code weight}
     */
    Parameters parameters();

    /**
     * A router with other parameters.
     *
     * @param parameters the same names and shapes
     * @return a new router
     */
    Router withParameters(Parameters parameters);

    /** Releases the parameters; without any, there is nothing to do. A layer closes its router with itself. */
    @Override
    default void close() {}
}
