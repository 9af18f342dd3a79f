package org.moe4j.core.expert;

import java.util.Collections;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import org.moe4j.core.internal.Require;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.preset.PresetSection;

/**
 * Sizes of a bank of SwiGLU experts.
 *
 * @param count E, at least 1
 * @param hiddenSize D, at least 1
 * @param intermediateSize F, at least 1
 */
public record ExpertShape(int count, int hiddenSize, int intermediateSize) {
    /**
     * Checks the sizes.
     *
     * @param count E, at least 1
     * @param hiddenSize D, at least 1
     * @param intermediateSize F, at least 1
     */
    public ExpertShape {
        Require.atLeast("count", count, 1);
        Require.atLeast("hiddenSize", hiddenSize, 1);
        Require.atLeast("intermediateSize", intermediateSize, 1);
    }

    private static final Set<String> KEYS =
            Set.of("count", "hiddenSize", "intermediateSize", "latentSize", "weightPlace");

    /**
     * Width of the tokens of a preset's layer, from its section {@code experts}: what router, shared experts and merge see.
     *
     * @param preset the model's layer
     * @return D
     */
    public static int tokenWidth(Preset preset) {
        PresetSection section = preset.section("experts");
        section.rejectUnknown(KEYS);
        return section.positive("hiddenSize");
    }

    /**
     * The latent size of a preset's layer, from its key {@code experts.latentSize}: width of the tokens that routed experts see
     * between two projections.
     *
     * @param preset the model's layer
     * @return L; empty for a model whose experts see the full width
     */
    public static OptionalInt latentSize(Preset preset) {
        PresetSection section = preset.section("experts");
        section.rejectUnknown(KEYS);
        return section.has("latentSize") ? OptionalInt.of(section.positive("latentSize")) : OptionalInt.empty();
    }

    /**
     * The routed experts of a preset, from its section {@code experts}. With a key {@code latentSize} that is the hidden size of
     * these experts, instead of {@link #tokenWidth}.
     *
     * @param preset the model's layer
     * @return their shape
     */
    public static ExpertShape routed(Preset preset) {
        PresetSection section = preset.section("experts");
        section.rejectUnknown(KEYS);
        ExpertShape full = section.checked(
                "",
                () -> new ExpertShape(
                        section.integer("count"), section.integer("hiddenSize"), section.integer("intermediateSize")));
        return new ExpertShape(full.count, latentSize(preset).orElse(full.hiddenSize), full.intermediateSize);
    }

    /**
     * The shared experts of a preset, from its section {@code shared}: n of them as one of n-fold width, which is the same
     * function when they are added (Section 20 of the report on Olmo's MoE recipe, Equation 76). With
     * {@code shared.apart = true} they stay n, as a merge with a gate for each of them needs it (Equation 78).
     *
     * @param preset the model's layer
     * @return banks of one; none when the model has no shared expert
     */
    public static List<ExpertShape> shared(Preset preset) {
        PresetSection section = preset.section("shared");
        section.rejectUnknown(Set.of("count", "intermediateSize", "apart"));
        if (section.isEmpty()) {
            return List.of();
        }
        int count = section.integer("count");
        if (count < 1) {
            throw section.wrong("count", "at least 1 (without shared experts, leave the section out)", "" + count);
        }
        int width = section.positive("intermediateSize");
        long total = (long) count * width;
        if (total > Integer.MAX_VALUE) {
            throw section.wrong("intermediateSize", "a total width below 2^31", total + " in all");
        }
        int hidden = tokenWidth(preset);
        if (!section.flag("apart", false)) {
            return List.of(new ExpertShape(1, hidden, (int) total));
        }
        if (count == 1) {
            throw section.wrong("count", "at least 2 (shared.apart = true)", "1");
        }
        return Collections.nCopies(count, new ExpertShape(1, hidden, width));
    }

    /**
     * Numbers in the three projections of all experts.
     *
     * @return {@code 3 · E · D · F}
     */
    public long parameters() {
        return 3L * count * hiddenSize * intermediateSize;
    }

    /**
     * Floating-point operations of one forward token, a multiply-add counted as two, the products only.
     *
     * @param topK experts per token
     * @return {@code 2 · 3 · K · D · F}
     */
    public long flopsPerToken(int topK) {
        return 6L * Require.inRange("topK", topK, 1, count, "experts") * hiddenSize * intermediateSize;
    }
}
