package org.moe4j.router.analysis.cache;

import java.util.List;
import org.moe4j.core.internal.Require;
import org.moe4j.router.analysis.ChosenExperts;
import org.moe4j.router.analysis.RoutingSource;

/**
 * Several layers as one trace for a cache that they share, in the order of decoding: the experts of the first token in the first layer, in
 * the second and so on, then those of the second token. Expert e of layer l is number {@code E_0 + … + E_(l−1) + e}.
 */
public final class DecodingOrder implements RoutingSource {
    private final List<RoutingSource> layers;
    private final int experts;
    private final int topK;

    private DecodingOrder(List<RoutingSource> layers) {
        this.layers = layers;
        long all = layers.stream().mapToLong(RoutingSource::experts).sum();
        if (all > Integer.MAX_VALUE) {
            throw Require.expected("layers", "fewer than 2^31 experts together", all);
        }
        experts = (int) all;
        topK = layers.stream().mapToInt(RoutingSource::topK).sum();
    }

    /**
     * Joins layers.
     *
     * @param layers at least one, in the order in which they run, of the same tokens
     * @return one trace
     * @throws IllegalArgumentException for no layer, or layers of different numbers of tokens
     */
    public static DecodingOrder of(List<? extends RoutingSource> layers) {
        Require.atLeast("layers.size", layers.size(), 1);
        for (RoutingSource layer : layers) {
            Require.count("layers", layer.tokens(), layers.get(0).tokens(), "tokens (of the first layer)");
        }
        return new DecodingOrder(List.copyOf(layers));
    }

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
        return layers.get(0).tokens();
    }

    @Override
    public ChosenExperts block(long from, int count) {
        int[] chosen = new int[Require.elements(count, topK)];
        int[] length = new int[count];
        int first = 0;
        for (RoutingSource layer : layers) {
            ChosenExperts block = layer.block(from, count);
            for (int t = 0; t < count; t++) {
                for (int slot = block.start(t), end = block.end(t); slot < end; slot++) {
                    chosen[t * topK + length[t]++] = first + block.expert(slot);
                }
            }
            first += layer.experts();
        }
        return joined(chosen, length);
    }

    private ChosenExperts joined(int[] chosen, int[] length) {
        int[] offsets = new int[length.length + 1];
        for (int t = 0; t < length.length; t++) {
            System.arraycopy(chosen, t * topK, chosen, offsets[t], length[t]);
            offsets[t + 1] = offsets[t] + length[t];
        }
        return ChosenExperts.ofVarying(experts, topK, offsets, chosen);
    }
}
