package org.moe4j.router.analysis;

import java.util.List;
import java.util.Objects;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.internal.Require;
import org.moe4j.router.RouterConfig;

/**
 * The experts of the tokens of one layer, read in blocks, so that there may be more of them than memory holds. For one thread at a
 * time.
 */
public interface RoutingSource {
    /** Tokens that are read at once where nobody says otherwise. */
    int BLOCK = 4096;

    /**
     * Number of experts.
     *
     * @return E, at least 1
     */
    int experts();

    /**
     * The largest number of experts of any token.
     *
     * @return K
     */
    int topK();

    /**
     * Number of tokens.
     *
     * @return T
     */
    long tokens();

    /**
     * Reads some tokens.
     *
     * @param from 0 ≤ from
     * @param count tokens, {@code from + count} ≤ T
     * @return their experts; valid until the next block is asked for
     */
    ChosenExperts block(long from, int count);

    /**
     * Shows all tokens to some observers, block after block.
     *
     * @param observers each gets every block
     */
    default void stream(List<? extends RoutingObserver> observers) {
        for (long from = 0; from < tokens(); from += BLOCK) {
            ChosenExperts block = block(from, (int) Math.min(BLOCK, tokens() - from));
            for (RoutingObserver observer : observers) {
                observer.add(block);
            }
        }
    }

    /**
     * Shows all tokens to one observer.
     *
     * @param observer gets every block
     * @param <O> its kind
     * @return the observer
     */
    default <O extends RoutingObserver> O stream(O observer) {
        stream(List.of(observer));
        return observer;
    }

    /**
     * A routing in memory.
     *
     * @param routing of one layer
     * @return its tokens
     */
    static RoutingSource of(Routing routing) {
        return new RoutingSource() {
            @Override
            public int experts() {
                return routing.experts();
            }

            @Override
            public int topK() {
                return routing.topK();
            }

            @Override
            public long tokens() {
                return routing.tokens();
            }

            @Override
            public ChosenExperts block(long from, int count) {
                Objects.checkFromIndexSize(from, count, tokens());
                return ChosenExperts.of(routing, (int) from, count);
            }
        };
    }

    /**
     * What a router would choose by recorded logits.
     *
     * @param logits of one layer
     * @param config a rule that looks at each token alone
     * @return its choices
     * @throws IllegalArgumentException for a rule that looks at the whole batch, or that has a selection bias
     */
    static RoutingSource of(LogitSource logits, RouterConfig config) {
        Require.count("config", config.experts(), logits.experts(), "experts (of the logits)");
        if (config.selection().wholeBatch()) {
            throw Require.expected("config.selection", "a rule that looks at each token alone", config.selection());
        }
        config.routing(new double[0]); // refuses what needs more than logits
        return new RoutingSource() {
            private double[] room = new double[0];

            @Override
            public int experts() {
                return config.experts();
            }

            @Override
            public int topK() {
                return config.topK();
            }

            @Override
            public long tokens() {
                return logits.tokens();
            }

            @Override
            public ChosenExperts block(long from, int count) {
                int numbers = Require.product("count x experts", count, config.experts());
                if (room.length != numbers) {
                    room = new double[numbers];
                }
                logits.read(from, count, room);
                return ChosenExperts.of(config.routing(room), 0, count);
            }
        };
    }
}
