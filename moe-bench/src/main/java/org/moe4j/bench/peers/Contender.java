package org.moe4j.bench.peers;

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

        @Override
        void close();
    }
}
