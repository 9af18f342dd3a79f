package org.moe4j.merge;

import java.util.List;
import java.util.Set;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.preset.PresetSection;

/** An {@link OutputMerge} that has a name. */
public sealed interface MergeConvention extends OutputMerge permits ScaledMerge, GatedMerge {
    /**
     * What the convention is called in presets and reports.
     *
     * @return {@code olmo}, {@code routed-unit-sum}, {@code equal-branch-mass}, {@code width-proportional},
     *     {@code active-mean}, {@code sum}, {@code scaled(r, s)}, {@code sigmoid-gated} or {@code shared-router}
     */
    String name();

    /**
     * The convention of a preset, from its section {@code merge}: key {@code convention}; for {@code scaled} the keys
     * {@code routedScale} and {@code sharedScale} (1 when absent); for {@code shared-router} the key {@code score},
     * {@code softmax} (when absent) or {@code sigmoid}. A gate has a row for each bank of {@link ExpertShape#shared}.
     *
     * @param preset the model's layer
     * @param backend makes the gate of {@code sigmoid-gated} and {@code shared-router}
     * @param seed of that gate
     * @return the convention
     * @throws IllegalArgumentException for an unknown key, an absent or unknown convention, a key that the convention does
     *     not take, or a gate without a shared expert
     */
    static MergeConvention from(Preset preset, Backend backend, long seed) {
        PresetSection section = preset.section("merge");
        section.rejectUnknown(Set.of("convention", "routedScale", "sharedScale", "score"));
        String name = section.text("convention", "absent");
        for (String key : List.of("routedScale", "sharedScale", "score")) {
            if (section.has(key) && !name.equals(key.equals("score") ? "shared-router" : "scaled")) {
                throw section.wrong(key, "no value (merge.convention = " + name + ")", section.text(key, ""));
            }
        }
        return switch (name) {
            case "olmo" -> ScaledMerge.olmo(ActiveWidths.of(preset));
            case "routed-unit-sum" -> ScaledMerge.routedUnitSum(ActiveWidths.of(preset));
            case "equal-branch-mass" -> ScaledMerge.equalBranchMass(ActiveWidths.of(preset));
            case "width-proportional" -> ScaledMerge.widthProportional(ActiveWidths.of(preset));
            case "active-mean" ->
                ScaledMerge.activeMean(preset.section("router").integer("topK"));
            case "sum" -> ScaledMerge.sum();
            case "scaled" ->
                section.checked(
                        "",
                        () -> ScaledMerge.scaled(
                                section.decimal("routedScale", 1.0), section.decimal("sharedScale", 1.0)));
            case "sigmoid-gated" -> gated(preset, SharedScore.SIGMOID, backend, seed);
            case "shared-router" -> gated(preset, routerScore(section), backend, seed);
            default ->
                throw section.wrong(
                        "convention",
                        "one of [active-mean, equal-branch-mass, olmo, routed-unit-sum, scaled, shared-router,"
                                + " sigmoid-gated, sum, width-proportional]",
                        name);
        };
    }

    private static SharedScore routerScore(PresetSection section) {
        String score = section.text("score", "softmax");
        return switch (score) {
            case "softmax" -> SharedScore.SOFTMAX;
            case "sigmoid" -> SharedScore.NORMALIZED_SIGMOID;
            default -> throw section.wrong("score", "one of [sigmoid, softmax]", score);
        };
    }

    private static GatedMerge gated(Preset preset, SharedScore score, Backend backend, long seed) {
        int experts = ExpertShape.shared(preset).size();
        if (experts == 0) {
            PresetSection section = preset.section("merge");
            throw section.wrong("convention", "one without a gate (no section shared)", section.text("convention", ""));
        }
        PresetSection shared = preset.section("shared");
        if (score == SharedScore.SIGMOID && shared.integer("count") > 1 && !shared.has("apart")) {
            throw shared.wrong(
                    "apart",
                    "true for a gate for each shared expert or false for one on all (merge.convention = sigmoid-gated)",
                    "absent");
        }
        return GatedMerge.random(experts, ExpertShape.tokenWidth(preset), score, backend, seed);
    }
}
