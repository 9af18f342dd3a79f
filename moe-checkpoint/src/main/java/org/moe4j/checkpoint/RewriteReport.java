package org.moe4j.checkpoint;

import java.util.List;
import org.moe4j.checkpoint.safetensors.StoredRounding;

/**
 * What a rewrite did.
 *
 * @param layers how far their outputs are the same
 * @param scale what the down projections of the routed experts were multiplied by
 * @param settings keys of {@code config.json} that changed
 * @param rewritten tensors that are others now, by number, type or name
 * @param kept tensors that are the same bit for bit
 * @param rounding of the numbers of the rewritten tensors
 */
public record RewriteReport(
        List<Layer> layers, double scale, List<Setting> settings, int rewritten, int kept, StoredRounding rounding) {
    /**
     * Copies the lists.
     *
     * @param layers how far their outputs are the same
     * @param scale what the down projections of the routed experts were multiplied by
     * @param settings keys of {@code config.json} that changed
     * @param rewritten tensors that are others now, by number, type or name
     * @param kept tensors that are the same bit for bit
     * @param rounding of the numbers of the rewritten tensors
     */
    public RewriteReport {
        layers = List.copyOf(layers);
        settings = List.copyOf(settings);
    }

    /**
     * The outputs of a layer for random tokens, compared with those of the original: the largest difference, as a part of the largest
     * output.
     *
     * @param index of the layer
     * @param computed of the rewritten layer before its numbers are stored
     * @param stored of the layer as it was read back
     */
    public record Layer(int index, double computed, double stored) {}

    /**
     * A key of {@code config.json} that changed.
     *
     * @param key with dots where it stands in an object
     * @param before its text; {@code null} or {@code absent} as words
     * @param after the same
     */
    public record Setting(String key, String before, String after) {
        @Override
        public String toString() {
            return key + ": " + before + " -> " + after;
        }
    }
}
