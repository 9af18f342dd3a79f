package org.moe4j.core.preset;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** The part "Files" of docs/presets.md, made from the files. */
final class PresetPage {
    static final String BEGIN = "<!-- files: begin; made from the preset files by PresetPageTest -->\n";
    static final String END = "<!-- files: end -->\n";

    private static final String NONE = "–";
    private static final int LINE = 150;
    private static final List<String> COLUMNS = List.of(
            "file",
            "model",
            "E / K / D / F",
            "experts",
            "score",
            "noise",
            "selection",
            "renormalisation",
            "scale",
            "shared",
            "merge",
            "capacity",
            "losses",
            "marks");

    private static final List<String> FURTHER_CAPACITY = List.of(
            "share", "minimum", "multipleOf", "zeroRows", "scope", "groupSize", "order", "keptWeights", "unserved");

    private PresetPage() {}

    /** The page with its part between the two comments made anew. */
    static String renewed(String page) {
        int from = page.indexOf(BEGIN);
        int to = page.indexOf(END);
        if (from < 0 || to < from) {
            throw new IllegalArgumentException("page: expected " + BEGIN + " and " + END + " but was without them");
        }
        return page.substring(0, from + BEGIN.length()) + files() + page.substring(to);
    }

    private static String files() {
        StringBuilder text = new StringBuilder("\n").append(line(COLUMNS));
        text.append("|---".repeat(COLUMNS.size())).append("|\n");
        for (String file : Preset.names()) {
            text.append(line(row(file, Preset.named(file))));
        }
        for (String file : Preset.names()) {
            text.append('\n').append(entry(file, Preset.named(file)));
        }
        return text.append('\n').toString();
    }

    private static String line(List<String> cells) {
        return "| " + String.join(" | ", cells) + " |\n";
    }

    /** One cell per column. */
    static List<String> row(String file, Preset preset) {
        PresetSection experts = preset.section("experts");
        PresetSection router = preset.section("router");
        return List.of(
                "[`" + file + "`](#" + file.replace(".", "") + ")",
                preset.name(),
                experts.integer("count") + " / " + router.integer("topK") + " / " + experts.integer("hiddenSize")
                        + " / " + experts.integer("intermediateSize"),
                experts(experts),
                score(router),
                noise(preset.section("noise")),
                selection(router),
                renormalization(router),
                number(router.decimal("scale", 1)),
                shared(preset.section("shared")),
                merge(preset.section("merge")),
                capacity(preset.section("capacity")),
                losses(preset.section("losses")),
                marks(preset));
    }

    private static String experts(PresetSection experts) {
        String kind = experts.text("activation", "swiglu");
        kind = experts.flag("biases", false) ? kind + ", biases" : kind;
        kind = experts.has("latentSize") ? kind + ", latent " + experts.integer("latentSize") : kind;
        return experts.text("weightPlace", "output").equals("input") ? kind + ", weight on the input" : kind;
    }

    private static String score(PresetSection router) {
        String score = router.text("score", "softmax") + plus(router.text("score.epsilon", ""));
        return router.flag("logitBias", false) ? score + ", logit bias" : score;
    }

    private static String noise(PresetSection noise) {
        List<String> words = new ArrayList<>();
        for (String key : List.of("kind", "epsilon", "deviation", "floor")) {
            if (noise.has(key)) {
                words.add(noise.text(key, ""));
            }
        }
        return words.isEmpty() ? NONE : String.join(" ", words);
    }

    private static String selection(PresetSection router) {
        String selection = router.text("selection", "plain");
        for (String key : List.of("secondExpert", "threshold", "factor")) {
            if (router.has("selection." + key)) {
                selection += " " + router.text("selection." + key, "");
            }
        }
        if (router.has("selection.groups")) {
            selection = router.integer("selection.keptGroups") + " of " + router.integer("selection.groups")
                    + " groups, " + router.text("selection.groupScore", "");
        }
        if (router.text("selection.closedGroups", "").equals("zero")) {
            selection += ", closed at 0";
        }
        return router.flag("selectionBias", false) ? selection + ", bias" : selection;
    }

    private static String renormalization(PresetSection router) {
        String name = router.text("renormalization", "none");
        if (router.has("renormalization.p")) {
            name += " " + router.text("renormalization.p", "");
        }
        String place = router.text("renormalization.epsilonPlace", "in-sum");
        return name + plus(router.text("renormalization.epsilon", "")) + (place.equals("in-sum") ? "" : " " + place);
    }

    private static String plus(String epsilon) {
        return epsilon.isEmpty() ? "" : " + " + epsilon;
    }

    private static String shared(PresetSection shared) {
        return shared.isEmpty()
                ? NONE
                : shared.integer("count") + " × " + shared.integer("intermediateSize")
                        + (shared.flag("apart", false) ? ", apart" : "");
    }

    private static String merge(PresetSection merge) {
        String name = merge.text("convention", NONE);
        return switch (name) {
            case "scaled" -> name + " " + merge.text("routedScale", "1") + ", " + merge.text("sharedScale", "1");
            case "shared-router" -> name + " " + merge.text("score", "softmax");
            default -> name;
        };
    }

    private static String capacity(PresetSection capacity) {
        if (capacity.isEmpty()) {
            return NONE;
        }
        List<String> words = new ArrayList<>();
        if (capacity.has("rows")) {
            words.add(capacity.integer("rows") + " rows");
        } else {
            words.add(number(capacity.decimal("factor", 1)) + " " + capacity.text("rounding", "up"));
        }
        for (String key : FURTHER_CAPACITY) {
            if (capacity.has(key)) {
                words.add(key + " " + capacity.text(key, ""));
            }
        }
        return words.size() <= 3
                ? String.join(", ", words)
                : words.get(0) + ", and " + (words.size() - 1) + " further keys";
    }

    private static String losses(PresetSection losses) {
        List<String> all = new ArrayList<>();
        for (String key : List.of("loadBalancing", "importance", "load")) {
            if (losses.has(key)) {
                all.add((key.equals("loadBalancing") ? "" : key + " ") + losses.text(key, "") + " "
                        + losses.text(key + ".coefficient", ""));
            }
        }
        if (losses.has("zLoss.coefficient")) {
            all.add("z " + losses.text("zLoss.coefficient", ""));
        }
        return all.isEmpty() ? NONE : String.join(", ", all);
    }

    private static String marks(Preset preset) {
        List<String> marks = new ArrayList<>();
        if (!preset.defaults().isEmpty()) {
            marks.add(preset.defaults().size() + " defaults");
        }
        if (!preset.chosen().isEmpty()) {
            marks.add(preset.chosen().size() + " chosen");
        }
        return marks.isEmpty() ? NONE : String.join(", ", marks);
    }

    private static String number(double value) {
        return Double.toString(value).replaceFirst("\\.0$", "");
    }

    /** What does not fit into a table. */
    static String entry(String file, Preset preset) {
        StringBuilder text = new StringBuilder("### ").append(file).append("\n\n");
        text.append(wrapped("**" + preset.name() + ".** " + preset.note(), ""));
        text.append('\n').append(wrapped("- Read from: " + preset.source(), "  "));
        if (!preset.defaults().isEmpty()) {
            text.append(wrapped("- Defaults: " + keys(preset.defaults()), "  "));
        }
        if (!preset.chosen().isEmpty()) {
            text.append(wrapped("- Chosen: " + keys(preset.chosen()), "  "));
        }
        return text.toString();
    }

    private static String keys(Set<String> keys) {
        return keys.stream().map(key -> "`" + key + "`").collect(Collectors.joining(", "));
    }

    /** Lines of limited length; a rendered page does not show where they end. */
    private static String wrapped(String text, String indent) {
        StringBuilder lines = new StringBuilder();
        int length = 0;
        for (String word : text.strip().split(" ", -1)) {
            if (length == 0) {
                lines.append(word);
                length = word.length();
            } else if (length + 1 + word.length() > LINE) {
                lines.append('\n').append(indent).append(word);
                length = indent.length() + word.length();
            } else {
                lines.append(' ').append(word);
                length += 1 + word.length();
            }
        }
        return lines.append('\n').toString();
    }
}
