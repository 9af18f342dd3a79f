package org.moe4j.bench.peers;

import java.util.Map;

/** One implementation of a layer with its weights in place. */
public interface Contender extends AutoCloseable {
    /**
     * Puts tokens where the implementation wants them; that is not measured.
     *
     * @param tokens (T×D), row-major
     * @param count T, at least 1
     * @return to be called over and over
     * @throws Exception what the implementation throws
     */
    Calls bind(float[] tokens, int count) throws Exception;

    @Override
    void close();

    /** Of what gradients are compared; row-major, of the shape of what they belong to. */
    enum Gradient {
        /** (T×D). */
        TOKENS,
        /** (E×D). */
        ROUTER,
        /** (F×D), of one expert. */
        GATE,
        /** (F×D), of one expert. */
        UP,
        /** (D×F), of one expert. */
        DOWN
    }

    /** One layer on one batch of tokens. */
    interface Calls extends AutoCloseable {
        /**
         * Does the work once; this is what is measured.
         *
         * @throws Exception what the implementation throws
         */
        void call() throws Exception;

        /**
         * What the last call computed.
         *
         * @return the layer's output (T×D), row-major
         * @throws Exception what the implementation throws
         */
        float[] result() throws Exception;

        /**
         * What calls have added since the tokens were bound.
         *
         * @param expert whose weights' gradients are wanted
         * @return nothing after a forward pass alone
         * @throws Exception what the implementation throws
         */
        default Map<Gradient, float[]> gradients(int expert) throws Exception {
            return Map.of();
        }

        @Override
        void close();
    }
}
