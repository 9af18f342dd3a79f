package org.moe4j.core.expert;

import java.util.List;
import java.util.Set;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.preset.PresetSection;

/** The sections {@code experts} and {@code shared} of a preset. */
final class ExpertSection {
    private static final Set<String> KEYS = Set.of(
            "count",
            "hiddenSize",
            "intermediateSize",
            "activation",
            "activation.alpha",
            "activation.limit",
            "activation.offset",
            "biases",
            "latentSize",
            "weightPlace");
    private static final String CLAMPED = "clamped-swiglu";

    private ExpertSection() {}

    static PresetSection of(Preset preset) {
        PresetSection section = preset.section("experts");
        section.rejectUnknown(KEYS);
        return section;
    }

    static PresetSection shared(Preset preset) {
        PresetSection section = preset.section("shared");
        section.rejectUnknown(Set.of("count", "intermediateSize", "apart"));
        return section;
    }

    static Activation activation(PresetSection section) {
        String name = section.text("activation", "swiglu");
        for (String key : List.of("activation.alpha", "activation.limit", "activation.offset")) {
            if (section.has(key) != name.equals(CLAMPED)) {
                throw name.equals(CLAMPED)
                        ? section.wrong(key, "a number (experts.activation = " + CLAMPED + ")", "absent")
                        : section.wrong("activation", CLAMPED + " (experts." + key + " is given)", name);
            }
        }
        return switch (name) {
            case "swiglu" -> new Activation.SwiGlu();
            case CLAMPED ->
                section.checked(
                        "activation.",
                        () -> new Activation.ClampedSwiGlu(
                                section.decimal("activation.alpha", 0),
                                section.decimal("activation.limit", 0),
                                section.decimal("activation.offset", 0)));
            case "silu" -> new Activation.Silu();
            case "relu" -> new Activation.Relu();
            case "relu-squared" -> new Activation.ReluSquared();
            case "gelu-exact" -> new Activation.GeluExact();
            case "gelu-tanh" -> new Activation.GeluTanh();
            default ->
                throw section.wrong(
                        "activation",
                        "one of [clamped-swiglu, gelu-exact, gelu-tanh, relu, relu-squared, silu, swiglu]",
                        name);
        };
    }
}
