package org.moe4j.router;

import java.util.Set;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.CapacityScope;
import org.moe4j.core.dispatch.RowLimit;
import org.moe4j.core.dispatch.RowLimit.EvenShare;
import org.moe4j.core.dispatch.RowLimit.ZeroRows;
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
            "selection.secondExpert",
            "selection.threshold",
            "selection.tolerance",
            "selection.maxIterations",
            "selection.factor",
            "selection.share",
            "selection.rounding",
            "selection.minimum",
            "selection.multipleOf",
            "selection.groupSize",
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
        section.checked(selection instanceof ExpertSelection.GroupLimited ? "selection." : "", () -> {
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
        ofSelection(name, "group-limited", "groups", "keptGroups", "groupScore", "closedGroups");
        ofSelection(name, "top-two", "secondExpert", "threshold");
        ofSelection(name, "sinkhorn", "tolerance", "maxIterations");
        ofSelection(name, "expert-choice", "factor", "share", "rounding", "minimum", "multipleOf", "groupSize");
        return switch (name) {
            case "plain" -> new ExpertSelection.PlainTopK();
            case "expert-choice" -> section.checked("selection.", this::expertChoice);
            case "group-limited" -> section.checked("selection.", this::groupLimited);
            case "top-two" -> new ExpertSelection.TopTwo(secondExpert());
            case "sinkhorn" -> section.checked("selection.", this::sinkhorn);
            default ->
                throw section.wrong(
                        "selection", "one of [expert-choice, group-limited, plain, sinkhorn, top-two]", name);
        };
    }

    private void ofSelection(String chosen, String needed, String... keys) {
        for (String key : keys) {
            onlyWith("selection." + key, "selection", chosen, needed);
        }
    }

    private ExpertSelection groupLimited() {
        return new ExpertSelection.GroupLimited(
                section.integer("selection.groups"),
                section.integer("selection.keptGroups"),
                groupScore(),
                section.constant(
                        "selection.closedGroups",
                        ExpertSelection.ClosedGroups.class,
                        ExpertSelection.ClosedGroups.MINUS_INFINITY));
    }

    private ExpertSelection expertChoice() {
        RowLimit.OfShare rows = RowLimit.factor(required("selection.factor", "a number above 0"))
                .withShare(section.constant("selection.share", EvenShare.class, EvenShare.ASSIGNMENTS))
                .withRounding(section.constant("selection.rounding", Capacity.Rounding.class, Capacity.Rounding.UP))
                .withMultipleOf(whole("selection.multipleOf", 1));
        return new ExpertSelection.ExpertChoice(
                section.has("selection.minimum")
                        ? rows.withMinimum(section.positive("selection.minimum"))
                        : rows.withZeroRows(ZeroRows.NO_ROWS),
                section.has("selection.groupSize")
                        ? CapacityScope.groups(section.positive("selection.groupSize"))
                        : CapacityScope.batch());
    }

    private int whole(String key, int absent) {
        return section.has(key) ? section.positive(key) : absent;
    }

    private ExpertSelection sinkhorn() {
        ExpertSelection.Sinkhorn known = new ExpertSelection.Sinkhorn();
        return new ExpertSelection.Sinkhorn(
                section.decimal("selection.tolerance", known.tolerance()),
                whole("selection.maxIterations", known.maxIterations()));
    }

    private SecondExpert secondExpert() {
        String name = section.text("selection.secondExpert", "all");
        onlyWith("selection.threshold", "selection.secondExpert", name, "random");
        return switch (name) {
            case "all" -> new SecondExpert.All();
            case "random" ->
                section.checked(
                        "selection.",
                        () -> new SecondExpert.Random(required("selection.threshold", "a number of at least 0")));
            case "sampled" -> new SecondExpert.Sampled();
            default -> throw section.wrong("selection.secondExpert", "one of [all, random, sampled]", name);
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
                    "a router.renormalization.epsilon above 0",
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
            throw section.wrong(key, "router." + choice + " = " + needed, chosen);
        }
    }
}
