package org.moe4j.bench.hostile;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** Names that mean something somewhere: of parameters, tensors, presets, layouts, settings, backends. */
record Words(Path sandbox) {
    private static final List<String> ALL = List.of(
            "router.weight",
            "experts.0.gate",
            "experts.0.up",
            "experts.0.down",
            "experts",
            "router",
            "shared.0.0.up",
            "gate",
            "up",
            "down",
            "weight",
            "0",
            "routed",
            "olmoe-1b-7b",
            "mixtral-8x7b",
            "olmoe",
            "reference",
            "model.layers.0.mlp.gate.weight",
            "model.safetensors",
            "num_experts",
            "hidden_size",
            "count",
            "topK",
            "softmax",
            "num_experts: 8",
            "'text'",
            "a | 4",
            "8",
            "true",
            "{\"model_type\": \"olmoe\"}",
            "x");

    /** The least that a preset has. */
    Map<String, String> settings() {
        return Map.of("name", "Own", "source", "nobody");
    }

    String any(SplittableRandom random) {
        return ALL.get(random.nextInt(ALL.size()));
    }
}
