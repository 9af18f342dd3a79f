package org.moe4j.checkpoint.trace;

import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import org.moe4j.core.internal.Require;
import org.moe4j.router.RouterConfig;

/**
 * What a file of a trace does not say itself.
 *
 * @param topK K, for layers of which there are logits alone: the K largest after softmax
 * @param experts E, for files of indices alone
 * @param mask a file of one mark for each token, 1 or 0; tokens with 0 are left out
 * @param config the rule by which logits become a routing, also where indices were recorded beside them
 */
public record TraceOptions(OptionalInt topK, OptionalInt experts, Optional<Path> mask, Optional<RouterConfig> config) {
    private static final TraceOptions NONE =
            new TraceOptions(OptionalInt.empty(), OptionalInt.empty(), Optional.empty(), Optional.empty());

    /**
     * Checks what can be checked without the file.
     *
     * @param topK K, for layers of which there are logits alone: the K largest after softmax
     * @param experts E, for files of indices alone
     * @param mask a file of one mark for each token, 1 or 0; tokens with 0 are left out
     * @param config the rule by which logits become a routing, also where indices were recorded beside them
     * @throws IllegalArgumentException for K below 1, E out of range, or another K than that of the rule
     */
    public TraceOptions {
        topK.ifPresent(value -> Require.atLeast("topK", value, 1));
        experts.ifPresent(value -> Require.inRange("experts", value, 1, TraceFormat.MOST_EXPERTS, "experts"));
        if (topK.isPresent() && config.isPresent()) {
            Require.count("topK", topK.getAsInt(), config.get().topK(), "experts per token (of the config)");
        }
    }

    /**
     * Nothing beside the file.
     *
     * @return no options
     */
    public static TraceOptions none() {
        return NONE;
    }

    /**
     * With the number of experts per token.
     *
     * @param value K, at least 1
     * @return a changed copy
     */
    public TraceOptions withTopK(int value) {
        return new TraceOptions(OptionalInt.of(value), experts, mask, config);
    }

    /**
     * With the number of experts.
     *
     * @param value E, at least 1
     * @return a changed copy
     */
    public TraceOptions withExperts(int value) {
        return new TraceOptions(topK, OptionalInt.of(value), mask, config);
    }

    /**
     * With a mask of the tokens that count.
     *
     * @param file safetensors with a tensor {@code mask}, or a NumPy array; [T], of BOOL or whole numbers
     * @return a changed copy
     */
    public TraceOptions withMask(Path file) {
        return new TraceOptions(topK, experts, Optional.of(file), config);
    }

    /**
     * With a rule in place of the K largest after softmax.
     *
     * @param rule looks at each token alone, without a selection bias
     * @return a changed copy
     */
    public TraceOptions withConfig(RouterConfig rule) {
        return new TraceOptions(topK, experts, mask, Optional.of(rule));
    }
}
