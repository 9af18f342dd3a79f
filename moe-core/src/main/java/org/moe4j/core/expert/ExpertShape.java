package org.moe4j.core.expert;

import java.util.Collections;
import java.util.List;
import java.util.OptionalInt;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.internal.Require;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.preset.PresetSection;

/**
 * Sizes and kind of a bank of experts.
 *
 * @param count E, at least 1
 * @param hiddenSize D, what an expert reads and writes, at least 1
 * @param intermediateSize F, at least 1
 * @param activation what stands between the projections
 * @param biases whether every projection has a bias
 */
public record ExpertShape(int count, int hiddenSize, int intermediateSize, Activation activation, boolean biases) {
    private static final long MOST_WEIGHTS = 1L << 56; // so that operations can be counted, and counts added

    /**
     * Checks the sizes.
     *
     * @param count E, at least 1
     * @param hiddenSize D, what an expert reads and writes, at least 1
     * @param intermediateSize F, at least 1
     * @param activation what stands between the projections
     * @param biases whether every projection has a bias
     * @throws IllegalArgumentException for {@code count} below 1, {@code hiddenSize} below 1 or {@code intermediateSize} below 1
     */
    public ExpertShape {
        Require.atLeast("count", count, 1);
        Require.atLeast("hiddenSize", hiddenSize, 1);
        Require.atLeast("intermediateSize", intermediateSize, 1);
        long most = MOST_WEIGHTS / count / hiddenSize;
        if (intermediateSize > most) {
            throw Require.expected(
                    "count x hiddenSize x intermediateSize",
                    "at most 2^56 weights",
                    count + " x " + hiddenSize + " x " + intermediateSize);
        }
    }

    /**
     * Plain SwiGLU experts without biases.
     *
     * @param count E, at least 1
     * @param hiddenSize D, at least 1
     * @param intermediateSize F, at least 1
     */
    public ExpertShape(int count, int hiddenSize, int intermediateSize) {
        this(count, hiddenSize, intermediateSize, new Activation.SwiGlu(), false);
    }

    /**
     * Width of the tokens of a preset's layer, from its section {@code experts}: what router, shared experts and merge see.
     *
     * @param preset the model's layer
     * @return D
     */
    public static int tokenWidth(Preset preset) {
        return ExpertSection.of(preset).positive("hiddenSize");
    }

    /**
     * The latent size of a preset's layer, from its key {@code experts.latentSize}: width of the tokens that routed experts see
     * between two projections.
     *
     * @param preset the model's layer
     * @return L; empty for a model whose experts see the full width
     */
    public static OptionalInt latentSize(Preset preset) {
        PresetSection section = ExpertSection.of(preset);
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
        PresetSection section = ExpertSection.of(preset);
        ExpertShape full = section.checked(
                "",
                () -> new ExpertShape(
                        section.integer("count"),
                        section.integer("hiddenSize"),
                        section.integer("intermediateSize"),
                        ExpertSection.activation(section),
                        section.flag("biases", false)));
        int width = latentSize(preset).orElse(full.hiddenSize);
        return new ExpertShape(full.count, width, full.intermediateSize, full.activation, full.biases);
    }

    /**
     * The shared experts of a preset, from its section {@code shared}: n of them as one of n-fold width, which is the same
     * function when they are added (Section 20 of the report on Olmo's MoE recipe, Equation 76). With
     * {@code shared.apart = true} they stay n, as a merge with a gate for each of them needs it (Equation 78). Activation
     * and biases are those of the routed experts; with biases, n added as one have one down bias, the sum of theirs.
     *
     * @param preset the model's layer
     * @return banks of one; none when the model has no shared expert
     */
    public static List<ExpertShape> shared(Preset preset) {
        PresetSection section = ExpertSection.shared(preset);
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
        ExpertShape routed = routed(preset);
        int hidden = tokenWidth(preset);
        if (!section.flag("apart", false)) {
            return List.of(new ExpertShape(1, hidden, (int) total, routed.activation, routed.biases));
        }
        if (count == 1) {
            throw section.wrong("count", "at least 2 (shared.apart = true)", "1");
        }
        return Collections.nCopies(count, new ExpertShape(1, hidden, width, routed.activation, routed.biases));
    }

    /** Projections to the intermediate size, and biases of that width. */
    private int inner() {
        return activation.gated() ? 2 : 1;
    }

    private long biasNumbers() {
        return biases ? (long) inner() * intermediateSize + hiddenSize : 0;
    }

    /**
     * Numbers in the projections and biases of all experts.
     *
     * @return {@code E · (3 · D · F)}, with 2 instead of 3 without a gate; with biases {@code E · (2 · F + D)} more, or
     *     without a gate {@code E · (F + D)}
     */
    public long parameters() {
        return count * ((inner() + 1L) * hiddenSize * intermediateSize + biasNumbers());
    }

    /**
     * Floating-point operations of one forward token, a multiply-add counted as two: products and the additions of biases,
     * without the activation.
     *
     * @param topK experts per token
     * @return {@code 2 · 3 · K · D · F}, with 2 instead of 3 without a gate; with biases one more for each of an expert's
     *     biases
     * @throws IllegalArgumentException for {@code topK} out of range
     */
    public long flopsPerToken(int topK) {
        long experts = Require.inRange("topK", topK, 1, count, "experts");
        return experts * (2 * (inner() + 1L) * hiddenSize * intermediateSize + biasNumbers());
    }
}
