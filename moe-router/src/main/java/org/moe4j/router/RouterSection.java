package org.moe4j.router;

import java.util.Set;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.internal.Require;
import org.moe4j.core.preset.Preset;
import org.moe4j.core.preset.PresetSection;

/** Reads the section {@code router} of a preset. A key that would have no effect is an error, as an unknown one is. */
final class RouterSection {
    private static final Set<String> KEYS = Set.of(
            "topK",
            "score",
            "score.epsilon",
            "selection",
            "selection.groups",
            "selection.keptGroups",
            "selection.groupScore",
            "selection.closedGroups",
            "selectionBias",
            "logitBias",
            "renormalization",
            "renormalization.epsilon",
            "renormalization.epsilonPlace",
            "renormalization.p",
            "scale",
            "precision");
    private static final String SUM_OF_TOP = "sum-of-top-";

    private final PresetSection section;

    private RouterSection(PresetSection section) {
        this.section = section;
    }

    static RouterConfig read(Preset preset) {
        PresetSection section = preset.section("router");
        section.rejectUnknown(KEYS);
        int experts = ExpertShape.routed(preset).count();
        int topK = section.integer("topK");
        section.checked("", () -> Require.inRange("topK", topK, 1, experts, "experts"));
        RouterSection reader = new RouterSection(section);
        ExpertSelection selection = reader.selection();
        section.checked("selection.", () -> {
            selection.requireFits(experts, topK);
            return selection;
        });
        return section.checked("", () -> reader.config(experts, topK, selection));
    }

    private RouterConfig config(int experts, int topK, ExpertSelection selection) {
        return new RouterConfig(
                experts,
                topK,
                score(),
                selection,
                renormalization(),
                section.decimal("scale", 1.0),
                section.flag("selectionBias", false),
                section.flag("logitBias", false),
                section.constant("precision", RouterPrecision.class, RouterPrecision.BACKEND));
    }

    private ScoreFunction score() {
        String name = section.text("score", "softmax");
        onlyWith("score.epsilon", "score", name, "sigmoid");
        return switch (name) {
            case "softmax" -> new ScoreFunction.Softmax();
            case "sigmoid" ->
                section.checked("score.", () -> new ScoreFunction.Sigmoid(section.decimal("score.epsilon", 0)));
            case "sqrt-softplus" -> new ScoreFunction.SqrtSoftplus();
            default -> throw section.wrong("score", "one of [sigmoid, softmax, sqrt-softplus]", name);
        };
    }

    private ExpertSelection selection() {
        String name = section.text("selection", "plain");
        for (String key : new String[] {"groups", "keptGroups", "groupScore", "closedGroups"}) {
            onlyWith("selection." + key, "selection", name, "group-limited");
        }
        return switch (name) {
            case "plain" -> new ExpertSelection.PlainTopK();
            case "group-limited" ->
                section.checked(
                        "selection.",
                        () -> new ExpertSelection.GroupLimited(
                                section.integer("selection.groups"),
                                section.integer("selection.keptGroups"),
                                groupScore(),
                                section.constant(
                                        "selection.closedGroups",
                                        ExpertSelection.ClosedGroups.class,
                                        ExpertSelection.ClosedGroups.MINUS_INFINITY)));
            default -> throw section.wrong("selection", "one of [group-limited, plain]", name);
        };
    }

    private GroupScore groupScore() {
        String name =
                section.text("selection.groupScore", "absent"); // no default: the two common ones pick other groups
        if (name.matches(SUM_OF_TOP + "[1-9][0-9]{0,8}")) {
            return new GroupScore.SumOfBest(Integer.parseInt(name.substring(SUM_OF_TOP.length())));
        }
        return switch (name) {
            case "max" -> new GroupScore.Max();
            case "top-k-per-kept-group" -> new GroupScore.TopKPerKeptGroup();
            default ->
                throw section.wrong(
                        "selection.groupScore", "one of [max, sum-of-top-2, sum-of-top-N, top-k-per-kept-group]", name);
        };
    }

    private Renormalization renormalization() {
        String name = section.text("renormalization", "none");
        onlyWith("renormalization.epsilon", "renormalization", name, "sum");
        onlyWith("renormalization.epsilonPlace", "renormalization", name, "sum");
        onlyWith("renormalization.p", "renormalization", name, "norm");
        return switch (name) {
            case "none" -> new Renormalization.None();
            case "sum" -> sum();
            case "softmax-of-selected" -> new Renormalization.SoftmaxOfSelected();
            case "norm" ->
                section.checked(
                        "renormalization.",
                        () -> new Renormalization.Norm(required("renormalization.p", "a number above 0")));
            default -> throw section.wrong("renormalization", "one of [none, norm, softmax-of-selected, sum]", name);
        };
    }

    private Renormalization sum() {
        double epsilon = section.decimal("renormalization.epsilon", 0);
        if (epsilon == 0 && section.has("renormalization.epsilonPlace")) {
            throw section.wrong(
                    "renormalization.epsilonPlace",
                    "a renormalization.epsilon above 0",
                    section.has("renormalization.epsilon") ? "0" : "absent");
        }
        return section.checked(
                "renormalization.",
                () -> new Renormalization.Sum(
                        epsilon,
                        section.constant(
                                "renormalization.epsilonPlace",
                                Renormalization.EpsilonPlace.class,
                                Renormalization.EpsilonPlace.IN_SUM)));
    }

    private double required(String key, String what) {
        if (!section.has(key)) {
            throw section.wrong(key, what, "absent");
        }
        return section.decimal(key, 0);
    }

    /** Refuses a key of one choice beside another choice. */
    private void onlyWith(String key, String choice, String chosen, String needed) {
        if (section.has(key) && !chosen.equals(needed)) {
            throw section.wrong(key, choice + " = " + needed, chosen);
        }
    }
}
