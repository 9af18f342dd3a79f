package org.moe4j.router.analysis;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.moe4j.core.internal.Require;

/** Parts of texts, and texts interleaved into one batch as a server does with requests. */
public final class Passages {
    private static final int MOST_PARTS = 1 << 20;

    private Passages() {}

    /**
     * Some consecutive tokens.
     *
     * @param source of one layer; not to be read elsewhere meanwhile
     * @param from first of them
     * @param tokens how many
     * @return a view
     * @throws IndexOutOfBoundsException for an index out of range
     */
    public static RoutingSource part(RoutingSource source, long from, long tokens) {
        Objects.checkFromIndexSize(from, tokens, source.tokens());
        return new View(source.experts(), source.topK(), tokens) {
            @Override
            ChosenExperts read(long first, int count) {
                return source.block(from + first, count);
            }
        };
    }

    /**
     * Consecutive parts of one length; tokens that are left over at the end belong to none.
     *
     * @param source of one layer
     * @param parts N, at least 1 and at most 2²⁰
     * @return N views of ⌊T/N⌋ tokens
     * @throws IllegalArgumentException for {@code parts} below 1
     */
    public static List<RoutingSource> parts(RoutingSource source, int parts) {
        Require.inRange("parts", parts, 1, MOST_PARTS, "views in a list");
        long length = source.tokens() / parts;
        List<RoutingSource> all = new ArrayList<>();
        for (int i = 0; i < parts; i++) {
            all.add(part(source, i * length, length));
        }
        return List.copyOf(all);
    }

    /**
     * Passages in turns: the first token of each, then the second of each. As many tokens are taken of each as the shortest has, so that
     * all have the same part in a batch (the article on OLMoE-1B-7B, LLM Architecture Refresh 5, section 6).
     *
     * @param passages at least one, of one layer each, with as many experts
     * @return a view of N·min T tokens
     * @throws IllegalArgumentException for no passage, or passages of different numbers of experts
     */
    public static RoutingSource interleaved(List<RoutingSource> passages) {
        Require.atLeast("passages", passages.size(), 1);
        List<RoutingSource> all = List.copyOf(passages);
        int experts = all.get(0).experts();
        int topK = 0;
        long shortest = Long.MAX_VALUE;
        for (RoutingSource passage : all) {
            Require.count("passages", passage.experts(), experts, "experts, as in the first");
            topK = Math.max(topK, passage.topK());
            shortest = Math.min(shortest, passage.tokens());
        }
        return new Turns(all, experts, topK, shortest);
    }

    /** A source that checks what it is asked for. */
    private abstract static class View implements RoutingSource {
        private final int experts;
        private final int topK;
        private final long tokens;

        View(int experts, int topK, long tokens) {
            this.experts = experts;
            this.topK = topK;
            this.tokens = tokens;
        }

        abstract ChosenExperts read(long from, int count);

        @Override
        public int experts() {
            return experts;
        }

        @Override
        public int topK() {
            return topK;
        }

        @Override
        public long tokens() {
            return tokens;
        }

        @Override
        public ChosenExperts block(long from, int count) {
            Objects.checkFromIndexSize(from, count, tokens);
            return read(from, count);
        }
    }

    /** Several passages in turns. Passages may share what they read into, so that each block is copied before the next is read. */
    private static final class Turns extends View {
        private final List<RoutingSource> passages;
        private int[] offsets = new int[1];
        private int[] indices = new int[0];

        Turns(List<RoutingSource> passages, int experts, int topK, long shortest) {
            super(experts, topK, Require.longProduct("passages", shortest, passages.size()));
            this.passages = passages;
        }

        @Override
        ChosenExperts read(long from, int count) {
            int n = passages.size();
            int stride = topK(); // room for each token
            if (indices.length < Require.product("count x topK", count, stride)) {
                indices = new int[count * stride];
            }
            offsets = offsets.length == count + 1 ? offsets : new int[count + 1];
            for (int p = 0; p < n; p++) {
                int first = Math.floorMod(p - from, n); // place in this block of the passage's first token
                int taken = first < count ? (count - first + n - 1) / n : 0;
                ChosenExperts block = passages.get(p).block((from + first) / n, taken);
                for (int i = 0; i < taken; i++) {
                    int place = first + i * n;
                    offsets[place + 1] = block.end(i) - block.start(i);
                    for (int slot = block.start(i), to = place * stride; slot < block.end(i); slot++) {
                        indices[to++] = block.expert(slot);
                    }
                }
            }
            close(count, stride);
            return ChosenExperts.ofVarying(experts(), stride, offsets, indices);
        }

        /** Moves the tokens together; until here an offset is the number of a token's experts. */
        private void close(int count, int stride) {
            offsets[0] = 0;
            for (int t = 0; t < count; t++) {
                int own = offsets[t + 1];
                System.arraycopy(indices, t * stride, indices, offsets[t], own);
                offsets[t + 1] = offsets[t] + own;
            }
        }
    }
}
