package org.moe4j.router.analysis.bill;

import org.moe4j.core.internal.Require;
import org.moe4j.router.analysis.BatchCollapse;

/**
 * How long a layer takes at least on a machine that does so many operations and moves so many bytes a second, both at once: the longer of
 * the two. One token needs few operations for each byte of its experts; with more tokens together the experts' bytes are read
 * once for all of them, until all experts are read anyway (Williams, Waterman and Patterson 2009; the article on OLMoE-1B-7B, LLM
 * Architecture Refresh 5, §6).
 *
 * @param flopsPerSecond peak, above 0
 * @param bytesPerSecond bandwidth of the memory that holds the weights, above 0
 */
public record Roofline(double flopsPerSecond, double bytesPerSecond) {
    /**
     * Checks the rates.
     *
     * @param flopsPerSecond above 0
     * @param bytesPerSecond above 0
     * @throws IllegalArgumentException for a rate that is not finite and above 0
     */
    public Roofline {
        requirePositive("flopsPerSecond", flopsPerSecond);
        requirePositive("bytesPerSecond", bytesPerSecond);
    }

    private static void requirePositive(String name, double rate) {
        if (!(rate > 0) || Double.isInfinite(rate)) {
            throw Require.expected(name, "a finite number above 0", rate);
        }
    }

    /**
     * What tokens that go through a layer together ask of a machine.
     *
     * @param tokens T
     * @param distinctExperts how many experts they need between them; a mean need not be whole
     * @param flops operations, T times those of one
     * @param weightBytes router, needed experts, shared experts and projections, each read once
     * @param activationBytes tokens read and output written once; what is between them is taken to stay in caches
     */
    public record Load(long tokens, double distinctExperts, double flops, double weightBytes, double activationBytes) {
        /**
         * The load of tokens that need a given number of experts between them, as measured.
         *
         * @param layer the sizes
         * @param tokens T, at least 0
         * @param distinctExperts 0..E
         * @param weights what weights are stored as
         * @param activations what tokens are stored as
         * @return the load; of no tokens nothing is read
         * @throws IllegalArgumentException for fewer than 0 tokens, or distinct experts outside 0..E
         */
        public static Load of(
                LayerBill layer, long tokens, double distinctExperts, NumberType weights, NumberType activations) {
            if (tokens < 0) {
                throw Require.expected("tokens", "at least 0", tokens);
            }
            int experts = layer.routed().count();
            if (!(distinctExperts >= 0 && distinctExperts <= experts)) {
                throw Require.expected("distinctExperts", "0.." + experts + " (experts)", distinctExperts);
            }
            double everyTokens = layer.routerParameters() + layer.sharedParameters();
            double numbers = tokens == 0 ? 0 : everyTokens + distinctExperts * layer.expertParameters();
            return new Load(
                    tokens,
                    distinctExperts,
                    (double) tokens * layer.flopsPerToken(),
                    numbers * weights.bits() / Byte.SIZE,
                    2.0 * tokens * layer.hiddenSize() * activations.bits() / Byte.SIZE);
        }

        /**
         * The load of tokens whose experts are drawn independently and uniformly. Trained routers need fewer: 31.4 of 64 for 8 tokens
         * of prose where this says 42.0 (§6).
         *
         * @param layer the sizes
         * @param tokens T, at least 0
         * @param weights what weights are stored as
         * @param activations what tokens are stored as
         * @return the load with {@link BatchCollapse#ofIndependentUniform} experts
         */
        public static Load ofIndependentUniform(
                LayerBill layer, long tokens, NumberType weights, NumberType activations) {
            double distinct =
                    BatchCollapse.ofIndependentUniform(layer.routed().count(), layer.topK(), Math.max(0, tokens));
            return of(layer, tokens, distinct, weights, activations);
        }

        /**
         * All bytes that are moved.
         *
         * @return of weights and activations
         */
        public double bytes() {
            return weightBytes + activationBytes;
        }

        /**
         * Arithmetic intensity.
         *
         * @return operations for each byte; 0 without tokens
         */
        public double intensity() {
            return bytes() == 0 ? 0 : flops / bytes();
        }
    }

    /** What takes longer. */
    public enum Bound {
        /** The operations. */
        ARITHMETIC,
        /** The bytes; also where both take equally long. */
        MEMORY
    }

    /**
     * Where both take equally long.
     *
     * @return operations for each byte
     */
    public double ridge() {
        return flopsPerSecond / bytesPerSecond;
    }

    /**
     * Time for the operations alone.
     *
     * @param load of a layer
     * @return seconds
     */
    public double arithmeticSeconds(Load load) {
        return load.flops() / flopsPerSecond;
    }

    /**
     * Time for the bytes alone.
     *
     * @param load of a layer
     * @return seconds
     */
    public double memorySeconds(Load load) {
        return load.bytes() / bytesPerSecond;
    }

    /**
     * The least time.
     *
     * @param load of a layer
     * @return seconds, the larger of both
     */
    public double seconds(Load load) {
        return Math.max(arithmeticSeconds(load), memorySeconds(load));
    }

    /**
     * Which of both it is.
     *
     * @param load of a layer
     * @return the bound that holds
     */
    public Bound bound(Load load) {
        return arithmeticSeconds(load) > memorySeconds(load) ? Bound.ARITHMETIC : Bound.MEMORY;
    }
}
