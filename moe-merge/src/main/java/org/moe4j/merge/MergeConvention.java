package org.moe4j.merge;

import java.util.List;
import java.util.Set;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.preset.Preset;

/** An {@link OutputMerge} that has a name. */
public sealed interface MergeConvention extends OutputMerge permits ScaledMerge, SigmoidGatedMerge {
    /**
     * What the convention is called in presets and reports.
     *
     * @return {@code olmo}, {@code routed-unit-sum}, {@code equal-branch-mass}, {@code width-proportional}, {@code sum},
     *     {@code scaled(r, s)} or {@code sigmoid-gated}
     */
    String name();

    /**
     * The convention of a preset, from its section {@code merge}: key {@code convention}, and for {@code scaled} the keys
     * {@code routedScale} and {@code sharedScale} (1 when absent).
     *
     * @param preset the model's layer
     * @param backend makes the gate of {@code sigmoid-gated}
     * @param seed of that gate
     * @return the convention
     * @throws IllegalArgumentException for an unknown key, an absent or unknown convention, or a scale that the
     *     convention does not take
     */
    static MergeConvention from(Preset preset, Backend backend, long seed) {
        Preset.Section section = preset.section("merge");
        section.rejectUnknown(Set.of("convention", "routedScale", "sharedScale"));
        String name = section.text("convention", "absent");
        for (String key : List.of("routedScale", "sharedScale")) {
            String value = section.text(key, "");
            if (!value.isEmpty() && !name.equals("scaled")) {
                throw section.wrong(key, "no value (merge.convention = " + name + ")", value);
            }
        }
        return switch (name) {
            case "olmo" -> ScaledMerge.olmo(ActiveWidths.of(preset));
            case "routed-unit-sum" -> ScaledMerge.routedUnitSum(ActiveWidths.of(preset));
            case "equal-branch-mass" -> ScaledMerge.equalBranchMass(ActiveWidths.of(preset));
            case "width-proportional" -> ScaledMerge.widthProportional(ActiveWidths.of(preset));
            case "sum" -> ScaledMerge.sum();
            case "scaled" ->
                ScaledMerge.scaled(section.decimal("routedScale", 1.0), section.decimal("sharedScale", 1.0));
            case "sigmoid-gated" ->
                SigmoidGatedMerge.random(ExpertShape.routed(preset).hiddenSize(), backend, seed);
            default ->
                throw section.wrong(
                        "convention",
                        "one of [equal-branch-mass, olmo, routed-unit-sum, scaled, sigmoid-gated, sum, width-proportional]",
                        name);
        };
    }
}
