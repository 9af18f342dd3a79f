package org.moe4j.bench.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import org.moe4j.checkpoint.LayerNeeds;
import org.moe4j.checkpoint.census.Census;
import org.moe4j.checkpoint.census.Count;
import org.moe4j.checkpoint.census.InitialMerge;
import org.moe4j.checkpoint.census.Role;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.checkpoint.layout.Sizes;
import org.moe4j.checkpoint.safetensors.TensorStore;
import org.moe4j.core.preset.Preset;

/**
 * All that {@code moe inspect} says.
 *
 * @param path as given
 * @param config of the model
 * @param layout of its family
 * @param preset its settings
 * @param sizes of its MoE layers
 * @param layers how many there are
 * @param moe which of them are MoE layers
 * @param expected the census by formulas
 * @param stored the census by headers, where there are files
 * @param merge what the merge predicts
 */
record Inspection(
        Path path,
        ModelConfig config,
        Layout layout,
        Preset preset,
        Sizes sizes,
        int layers,
        SortedSet<Integer> moe,
        Census expected,
        Optional<Census> stored,
        InitialMerge merge) {
    /**
     * A role whose stored parameters are not those of the formulas.
     *
     * @param role of which
     * @param stored in the files
     * @param expected by the configuration
     */
    record Difference(Role role, long stored, long expected) {}

    static Inspection of(Path path) throws IOException {
        ModelConfig config = ModelConfig.read(path);
        Layout layout = Layout.of(config);
        LayerNeeds needs = LayerNeeds.of(layout, config);
        return new Inspection(
                path,
                config,
                layout,
                needs.preset(),
                needs.sizes(),
                layout.layerCount(config),
                layout.moeLayers(config),
                Census.of(config),
                stored(path, config),
                merge(layout, config, needs.preset()));
    }

    private static InitialMerge merge(Layout layout, ModelConfig config, Preset preset) {
        try {
            return InitialMerge.of(config, preset);
        } catch (IllegalArgumentException refused) {
            throw layout.inWordsOf(config, refused);
        }
    }

    private static Optional<Census> stored(Path path, ModelConfig config) throws IOException {
        if (!Files.isDirectory(path) || !TensorStore.isIn(path)) {
            return Optional.empty();
        }
        try (TensorStore store = TensorStore.open(path)) {
            return Optional.of(Census.of(config, store));
        }
    }

    /** What is in the files, or else what has to be in them. */
    Census census() {
        return stored.orElse(expected);
    }

    int topK() {
        return preset.section("router").integer("topK");
    }

    /** Whether the routed experts work in a latent space. */
    boolean latent() {
        return preset.section("experts").has("latentSize");
    }

    /** What the numbers are said to be stored as. */
    Optional<String> elementType() {
        return config.text("torch_dtype").or(() -> config.text("dtype"));
    }

    /** How the files are packed, where the configuration says that they are. */
    Optional<String> quantization() {
        return config.text("quantization_config.quant_method");
    }

    /** Where files and formulas do not agree, of roles that both know. */
    List<Difference> differences() {
        List<Difference> differences = new ArrayList<>();
        for (Role role : Role.values()) {
            long there = parameters(census(), role);
            long expectation = parameters(expected, role);
            if (role != Role.OTHER && !expected.unknown().containsKey(role) && there != expectation) {
                differences.add(new Difference(role, there, expectation));
            }
        }
        return differences;
    }

    private static long parameters(Census census, Role role) {
        Count count = census.counts().get(role);
        return count == null ? 0 : count.parameters();
    }
}
