package org.moe4j.checkpoint.census;

import java.io.IOException;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.safetensors.TensorStore;

/**
 * The parameters of a model by what they are for. Layers that only predict further tokens are counted apart.
 *
 * @param counts by role, in the order of {@link Role}; a role that the model does not have is absent
 * @param unknown roles whose count the configuration does not give, and why
 * @param prediction the layers that only predict further tokens, as far as they were found; nothing of it is active
 * @param others names of the tensors of role {@link Role#OTHER}
 */
public record Census(
        Map<Role, Count> counts, Map<Role, String> unknown, Optional<Count> prediction, List<String> others) {
    /**
     * Copies the maps.
     *
     * @param counts by role
     * @param unknown roles whose count the configuration does not give, and why
     * @param prediction the layers that only predict further tokens
     * @param others names of the tensors of role {@link Role#OTHER}
     */
    public Census {
        counts = sorted(counts);
        unknown = sorted(unknown);
        others = List.copyOf(others);
    }

    private static <V> Map<Role, V> sorted(Map<Role, V> map) {
        Map<Role, V> sorted = new EnumMap<>(Role.class);
        sorted.putAll(map);
        return Collections.unmodifiableMap(sorted);
    }

    /**
     * Counts by formulas over the configuration: exact wherever it gives a number.
     *
     * @param config of a family that is known
     * @return the census
     * @throws IllegalArgumentException for an unknown family, or a key with a wrong value
     */
    public static Census of(ModelConfig config) {
        return new ConfigCensus(config).census();
    }

    /**
     * Counts what is stored, by the headers of the files: each tensor has a role by its name.
     *
     * @param config of a family that is known
     * @param store the tensors
     * @return the census
     * @throws IllegalArgumentException for an unknown family, or a key with a wrong value
     * @throws IOException when a file cannot be read
     */
    public static Census of(ModelConfig config, TensorStore store) throws IOException {
        return new HeaderCensus(config, store).census();
    }

    /**
     * All roles that were counted.
     *
     * @return their sum
     */
    public Count counted() {
        return counts.values().stream().reduce(Count.NONE, Count::plus);
    }

    /**
     * All parameters.
     *
     * @return their number; empty where a role is not known
     */
    public OptionalLong parameters() {
        return known(counted().parameters());
    }

    /**
     * Parameters that work on one token, without the lookup in the embedding table. A table that is the head too counts as the head.
     *
     * @return their number; empty where a role is not known
     */
    public OptionalLong activeWithoutEmbedding() {
        boolean tied = !counts.containsKey(Role.LM_HEAD);
        long lookup = tied ? 0 : counts.getOrDefault(Role.EMBEDDING, Count.NONE).active();
        return known(counted().active() - lookup);
    }

    /**
     * Parameters that work on one token, with the whole embedding table.
     *
     * @return their number; empty where a role is not known
     */
    public OptionalLong activeWithEmbedding() {
        return known(counted().active());
    }

    private OptionalLong known(long number) {
        return unknown.isEmpty() ? OptionalLong.of(number) : OptionalLong.empty();
    }
}
