package org.moe4j.router.analysis;

import java.util.Arrays;
import java.util.List;
import org.moe4j.core.internal.Require;

/**
 * How many distinct experts tokens need together: consecutive blocks of 1, 2, 4, … tokens are taken as batches, an incomplete last block
 * of each size is dropped, and the distinct experts of a block are counted. A token needs K of E experts; a batch soon needs nearly all,
 * so that sparsity saves arithmetic and not memory.
 *
 * <p>Who: the article on OLMoE-1B-7B (LLM Architecture Refresh 5, section 6), whose table is the mean over blocks and layers.
 */
public final class BatchCollapse {
    private static final int SIZES = 62; // a block of 2⁶² tokens will not be seen

    private final int experts;
    private final long slots;
    private final long tokens;
    private final long[] blocks; // complete blocks of 2^i tokens
    private final long[] distinct; // their distinct experts, summed up

    private BatchCollapse(int experts, long slots, long tokens, long[] blocks, long[] distinct) {
        this.experts = experts;
        this.slots = slots;
        this.tokens = tokens;
        this.blocks = blocks;
        this.distinct = distinct;
    }

    /**
     * The blocks of all tokens of a source.
     *
     * @param source of one layer
     * @return what its blocks need
     */
    public static BatchCollapse of(RoutingSource source) {
        return source.stream(new Counter(source.experts())).result();
    }

    /**
     * The blocks of several layers, or passages, as if they were one collection.
     *
     * @param parts at least one, all of as many experts
     * @return what the blocks of all of them need
     * @throws IllegalArgumentException for no part, or parts of different numbers of experts
     */
    public static BatchCollapse of(List<BatchCollapse> parts) {
        Require.atLeast("parts", parts.size(), 1);
        int experts = parts.get(0).experts;
        long slots = 0;
        long tokens = 0;
        long[] blocks = new long[SIZES];
        long[] distinct = new long[SIZES];
        for (BatchCollapse part : parts) {
            Require.count("parts", part.experts, experts, "experts");
            slots += part.slots;
            tokens += part.tokens;
            for (int i = 0; i < SIZES; i++) {
                blocks[i] += part.blocks[i];
                distinct[i] += part.distinct[i];
            }
        }
        return new BatchCollapse(experts, slots, tokens, blocks, distinct);
    }

    /**
     * What a block needs when every token draws its K experts independently and uniformly.
     *
     * @param experts E, at least 1
     * @param topK K in 0..E; need not be whole, as the mean of a varying number
     * @param tokens B, at least 0
     * @return {@code E · (1 − (1 − K/E)^B)}, the expected number of distinct experts
     * @throws IllegalArgumentException for E below 1, K outside 0..E, or fewer than 0 tokens
     */
    public static double ofIndependentUniform(int experts, double topK, long tokens) {
        Require.atLeast("experts", experts, 1);
        if (!(topK >= 0 && topK <= experts)) {
            throw Require.expected("topK", "0.." + experts + " (experts)", topK);
        }
        if (tokens < 0) {
            throw Require.expected("tokens", "at least 0", tokens);
        }
        return tokens == 0 ? 0 : -experts * Math.expm1(tokens * Math.log1p(-topK / experts));
    }

    /** Counts while tokens come. */
    public static final class Counter implements RoutingObserver {
        private final int experts;
        private final int words;
        private final long[] unions; // of the tokens of each size's unfinished block, a bit for each expert
        private final long[] blocks = new long[SIZES];
        private final long[] distinct = new long[SIZES];
        private long tokens;
        private long slots;

        /**
         * No tokens yet.
         *
         * @param experts E, at least 1
         * @throws IllegalArgumentException for {@code experts} below 1
         */
        public Counter(int experts) {
            this.experts = Require.atLeast("experts", experts, 1);
            words = (experts - 1) / Long.SIZE + 1;
            unions = new long[SIZES * words];
        }

        @Override
        public void add(ChosenExperts block) {
            Require.count("block", block.experts(), experts, "experts (of the tokens before)");
            for (int t = 0; t < block.tokens(); t++) {
                for (int slot = block.start(t), end = block.end(t); slot < end; slot++) {
                    int expert = block.expert(slot);
                    unions[expert >> 6] |= 1L << expert;
                }
                close();
            }
            slots += block.slots();
        }

        /** A token is a block of 1; a second complete block of a size completes one of the next size. */
        private void close() {
            tokens++;
            int level = 0;
            boolean complete = true;
            while (complete) {
                int at = level * words;
                int count = 0;
                for (int w = at; w < at + words; w++) {
                    count += Long.bitCount(unions[w]);
                    unions[w + words] |= unions[w];
                    unions[w] = 0;
                }
                blocks[level]++;
                distinct[level] += count;
                complete = (blocks[level] & 1) == 0;
                level++;
            }
        }

        /**
         * The blocks so far.
         *
         * @return not changed by later tokens
         */
        public BatchCollapse result() {
            return new BatchCollapse(experts, slots, tokens, blocks.clone(), distinct.clone());
        }
    }

    /**
     * The sizes of which there is a complete block.
     *
     * @return 1, 2, 4, …; none without tokens
     */
    public long[] sizes() {
        long[] sizes =
                new long[(int) Arrays.stream(blocks).takeWhile(n -> n > 0).count()];
        Arrays.setAll(sizes, i -> 1L << i);
        return sizes;
    }

    /**
     * Complete blocks of a size.
     *
     * @param size a power of two
     * @return their number
     */
    public long blocks(long size) {
        return blocks[level(size)];
    }

    /**
     * Distinct experts that a block of a size needs.
     *
     * @param size a power of two
     * @return the mean over blocks; 0 when there is none
     */
    public double needed(long size) {
        int level = level(size);
        return blocks[level] == 0 ? 0 : (double) distinct[level] / blocks[level];
    }

    /**
     * The same as a part of all experts.
     *
     * @param size a power of two
     * @return in 0..1
     */
    public double neededShare(long size) {
        return needed(size) / experts;
    }

    /**
     * What a block would need if no two tokens shared an expert.
     *
     * @param size tokens
     * @return {@code min(E, B·K)}, K being the mean number of experts of a token
     */
    public double worstCase(long size) {
        return Math.min(experts, size * expertsPerToken());
    }

    /**
     * What a block would need if tokens drew their experts independently and uniformly.
     *
     * @param size tokens
     * @return as {@link #ofIndependentUniform}, K being the mean number of experts of a token
     */
    public double independentUniform(long size) {
        return ofIndependentUniform(experts, expertsPerToken(), size);
    }

    /**
     * Experts of a token.
     *
     * @return the mean; K where every token has K, 0 without tokens
     */
    public double expertsPerToken() {
        return tokens == 0 ? 0 : (double) slots / tokens;
    }

    /**
     * Number of experts.
     *
     * @return E
     */
    public int experts() {
        return experts;
    }

    private static int level(long size) {
        if (size < 1 || Long.bitCount(size) != 1 || Long.numberOfTrailingZeros(size) >= SIZES) {
            throw Require.expected("size", "a power of two", size);
        }
        return Long.numberOfTrailingZeros(size);
    }
}
