package org.moe4j.router;

import java.util.Set;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.internal.Require;
import org.moe4j.core.preset.Preset;

/**
 * Every convention of a top-k router: {@code w_j = scale · renormalization(score(logits)[selection])}.
 *
 * @param experts E, at least 1
 * @param topK K in 1..E
 * @param score from logits to scores
 * @param selection from scores to experts
 * @param renormalization from the scores of the selected experts to weights
 * @param scale the model's routed scale, above 0; 1 for none
 */
public record RouterConfig(
        int experts,
        int topK,
        ScoreFunction score,
        ExpertSelection selection,
        Renormalization renormalization,
        double scale) {
    /**
     * Checks the numbers.
     *
     * @param experts E, at least 1
     * @param topK K in 1..E
     * @param score from logits to scores
     * @param selection from scores to experts
     * @param renormalization from the scores of the selected experts to weights
     * @param scale the model's routed scale, above 0; 1 for none
     */
    public RouterConfig {
        Require.atLeast("experts", experts, 1);
        Require.inRange("topK", topK, 1, experts, "experts");
        if (!(scale > 0) || Double.isInfinite(scale)) {
            throw Require.expected("scale", "a finite number above 0", scale);
        }
    }

    /**
     * Softmax over all experts, the K largest, no renormalisation, no scale.
     *
     * @param experts E, at least 1
     * @param topK K in 1..E
     * @return the plainest configuration
     */
    public static RouterConfig topK(int experts, int topK) {
        return new RouterConfig(
                experts,
                topK,
                new ScoreFunction.Softmax(),
                new ExpertSelection.PlainTopK(),
                new Renormalization.None(),
                1.0);
    }

    /**
     * The router of a preset, from its section {@code router}: {@code topK}, {@code score} (softmax), {@code selection}
     * (plain), {@code renormalization} (none or sum) and {@code scale}. What is absent is as in {@link #topK}.
     *
     * @param preset the model's layer
     * @return its router's configuration
     * @throws IllegalArgumentException for an unknown key, or a value that is none of the known ones
     */
    public static RouterConfig from(Preset preset) {
        Preset.Section section = preset.section("router");
        section.rejectUnknown(Set.of("topK", "score", "selection", "renormalization", "scale"));
        int experts = ExpertShape.routed(preset).count();
        return new RouterConfig(
                experts,
                section.integer("topK"),
                score(section),
                selection(section),
                renormalization(section),
                section.decimal("scale", 1.0));
    }

    private static ScoreFunction score(Preset.Section section) {
        String name = section.text("score", "softmax");
        return switch (name) {
            case "softmax" -> new ScoreFunction.Softmax();
            default -> throw section.wrong("score", "one of [softmax]", name);
        };
    }

    private static ExpertSelection selection(Preset.Section section) {
        String name = section.text("selection", "plain");
        return switch (name) {
            case "plain" -> new ExpertSelection.PlainTopK();
            default -> throw section.wrong("selection", "one of [plain]", name);
        };
    }

    private static Renormalization renormalization(Preset.Section section) {
        String name = section.text("renormalization", "none");
        return switch (name) {
            case "none" -> new Renormalization.None();
            case "sum" -> new Renormalization.Sum();
            default -> throw section.wrong("renormalization", "one of [none, sum]", name);
        };
    }

    /**
     * The same with another score function.
     *
     * @param other from logits to scores
     * @return a changed copy
     */
    public RouterConfig withScore(ScoreFunction other) {
        return new RouterConfig(experts, topK, other, selection, renormalization, scale);
    }

    /**
     * The same with another selection.
     *
     * @param other from scores to experts
     * @return a changed copy
     */
    public RouterConfig withSelection(ExpertSelection other) {
        return new RouterConfig(experts, topK, score, other, renormalization, scale);
    }

    /**
     * The same with another renormalisation.
     *
     * @param other from the scores of the selected experts to weights
     * @return a changed copy
     */
    public RouterConfig withRenormalization(Renormalization other) {
        return new RouterConfig(experts, topK, score, selection, other, scale);
    }

    /**
     * The same with another scale.
     *
     * @param other above 0
     * @return a changed copy
     */
    public RouterConfig withScale(double other) {
        return new RouterConfig(experts, topK, score, selection, renormalization, other);
    }

    /**
     * The same for another number of experts.
     *
     * @param other E, at least K
     * @return a changed copy
     */
    public RouterConfig withExperts(int other) {
        return new RouterConfig(other, topK, score, selection, renormalization, scale);
    }

    /**
     * The same with another number of experts per token.
     *
     * @param other K in 1..E
     * @return a changed copy
     */
    public RouterConfig withTopK(int other) {
        return new RouterConfig(experts, other, score, selection, renormalization, scale);
    }
}
