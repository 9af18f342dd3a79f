package org.moe4j.bench.jmh;

import java.util.HashMap;
import java.util.Map;
import org.moe4j.core.preset.Preset;

/** Presets at sizes of which one layer, with its gradients, fits into the memory of a small machine. */
final class Models {
    private static final int MIXTRAL_EXPERTS = 6;
    private static final int DEEPSEEK_HIDDEN = 1792;
    private static final int DEEPSEEK_INTERMEDIATE = 512;

    private Models() {}

    /**
     * A model by the name of its preset. Mixtral has 6 of its 8 experts, DeepSeek-V3 a quarter of its widths; the others have the sizes of
     * the file.
     */
    static Preset named(String name) {
        Preset preset = Preset.named(name);
        return switch (name) {
            case "mixtral-8x7b" -> with(preset, Map.of("experts.count", Integer.toString(MIXTRAL_EXPERTS)));
            case "deepseek-v3" -> preset.scaledTo(DEEPSEEK_HIDDEN, DEEPSEEK_INTERMEDIATE);
            default -> preset;
        };
    }

    private static Preset with(Preset preset, Map<String, String> changes) {
        Map<String, String> values = new HashMap<>(preset.settings());
        values.put("name", preset.name());
        values.put("source", preset.source());
        values.putAll(changes);
        return Preset.of(preset.name(), values);
    }

    /** D 256, F 128, E 16, K 2: so small that what is not a product counts. */
    static Preset small() {
        return Preset.of(
                "small",
                Map.of(
                        "name", "small",
                        "source", "this benchmark",
                        "experts.count", "16",
                        "experts.hiddenSize", "256",
                        "experts.intermediateSize", "128",
                        "router.topK", "2",
                        "router.score", "softmax",
                        "router.renormalization", "sum"));
    }
}
