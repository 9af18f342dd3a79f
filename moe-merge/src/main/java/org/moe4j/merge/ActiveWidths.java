package org.moe4j.merge;

import java.util.List;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.Router;
import org.moe4j.core.preset.Preset;

/**
 * The widths that are active for a token, which is all that a convention may depend on.
 *
 * @param topK K, at least 1
 * @param routedWidth intermediate size of one routed expert, at least 1 (d_r in the report)
 * @param sharedWidth intermediate size of all shared experts together, at least 0 (d_s in the report)
 */
public record ActiveWidths(int topK, int routedWidth, int sharedWidth) {
    /**
     * Checks the widths.
     *
     * @param topK K, at least 1
     * @param routedWidth intermediate size of one routed expert, at least 1
     * @param sharedWidth intermediate size of all shared experts together, at least 0
     * @throws IllegalArgumentException for {@code topK} below 1, {@code routedWidth} below 1 or {@code sharedWidth} below 0
     */
    public ActiveWidths {
        Require.atLeast("topK", topK, 1);
        Require.atLeast("routedWidth", routedWidth, 1);
        Require.atLeast("sharedWidth", sharedWidth, 0);
    }

    /**
     * The widths of a preset: key {@code router.topK} and the sections {@code experts} and {@code shared}.
     *
     * @param preset the model's layer
     * @return its active widths
     */
    public static ActiveWidths of(Preset preset) {
        return new ActiveWidths(
                preset.section("router").integer("topK"),
                ExpertShape.routed(preset).intermediateSize(),
                ExpertShape.shared(preset).stream()
                        .mapToInt(ExpertShape::intermediateSize)
                        .sum());
    }

    /**
     * The widths of the parts of a layer.
     *
     * @param router gives K
     * @param routed the routed experts
     * @param shared the shared experts; none for width 0
     * @return their active widths
     */
    public static ActiveWidths of(Router router, Experts routed, List<Experts> shared) {
        long wide = shared.stream()
                .mapToLong(expert -> expert.shape().intermediateSize())
                .sum();
        if (wide > Integer.MAX_VALUE) {
            throw Require.expected("shared", "a width together below 2^31", wide);
        }
        int sharedWidth = (int) wide;
        return new ActiveWidths(router.topK(), routed.shape().intermediateSize(), sharedWidth);
    }

    /**
     * Intermediate size of the dense block that has the same active width (Equation 81 of the report).
     *
     * @return {@code d_act = K·d_r + d_s}
     */
    public long active() {
        return (long) topK * routedWidth + sharedWidth;
    }
}
