package org.moe4j.bench.cli;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.SortedSet;
import java.util.TreeSet;
import org.moe4j.bench.support.Table;
import org.moe4j.checkpoint.census.Census;
import org.moe4j.checkpoint.census.Count;
import org.moe4j.checkpoint.census.InitialMerge;
import org.moe4j.checkpoint.layout.Sizes;
import org.moe4j.merge.MergeScale;

/** What {@code moe inspect} says as text and tables. */
final class InspectText {
    private static final int MOST_SHOWN = 5;
    private static final List<String> UNITS = List.of("B", "KiB", "MiB", "GiB", "TiB");

    private InspectText() {}

    static String of(Inspection inspection) {
        return String.join(
                "\n",
                head(inspection),
                settings(inspection),
                census(inspection),
                InspectBills.text(inspection),
                merge(inspection.merge()));
    }

    private static String head(Inspection inspection) {
        Sizes sizes = inspection.sizes();
        SortedSet<Integer> dense = new TreeSet<>();
        for (int i = 0; i < inspection.layers(); i++) {
            if (!inspection.moe().contains(i)) {
                dense.add(i);
            }
        }
        return inspection.layout().family() + " (layout " + inspection.layout().id() + "): " + inspection.path() + "\n"
                + "layers " + inspection.layers() + ": MoE " + ranges(inspection.moe()) + "; others " + ranges(dense)
                + "\n"
                + "E " + sizes.experts() + ", K " + inspection.topK() + ", D " + sizes.tokenWidth()
                + (inspection.latent() ? ", latent " + sizes.latentSize() : "") + ", F " + sizes.intermediateSize()
                + ", shared width " + sizes.sharedWidth() + "\n";
    }

    /** As {@code 0-2, 5}. */
    static String ranges(SortedSet<Integer> numbers) {
        List<String> ranges = new ArrayList<>();
        for (int number : numbers) {
            if (numbers.contains(number - 1)) {
                continue;
            }
            int last = number;
            while (numbers.contains(last + 1)) {
                last++;
            }
            ranges.add(last == number ? "" + number : number + "-" + last);
        }
        return ranges.isEmpty() ? "none" : String.join(", ", ranges);
    }

    private static String settings(Inspection inspection) {
        List<List<String>> rows = new ArrayList<>();
        inspection.preset().settings().forEach((key, value) -> rows.add(List.of(key, value)));
        return new Table(List.of("setting", "value"), 2, rows).aligned();
    }

    private static String census(Inspection inspection) {
        Census census = inspection.census();
        OptionalLong total = census.parameters();
        List<List<String>> rows = new ArrayList<>();
        census.counts().forEach((role, count) -> rows.add(row(role.key(), count, total)));
        census.unknown().keySet().forEach(role -> rows.add(List.of(role.key(), "?", "?", "?", "?")));
        Count counted = census.counted();
        rows.add(List.of(
                census.unknown().isEmpty() ? "all" : "all that is known",
                number(counted.parameters()),
                share(counted.parameters(), total),
                number(counted.active()),
                bytes(counted.bytes())));
        StringBuilder text = new StringBuilder(
                new Table(List.of("role", "parameters", "share", "active", "bytes"), 1, rows).aligned());
        census.activeWithoutEmbedding()
                .ifPresent(active -> text.append("active per token: ")
                        .append(number(census.activeWithEmbedding().orElse(active)))
                        .append("; without the embedding lookup ")
                        .append(number(active))
                        .append('\n'));
        notes(inspection).forEach(note -> text.append(note).append('\n'));
        return text.toString();
    }

    private static List<String> row(String role, Count count, OptionalLong total) {
        return List.of(
                role,
                number(count.parameters()),
                share(count.parameters(), total),
                number(count.active()),
                bytes(count.bytes()));
    }

    private static List<String> notes(Inspection inspection) {
        Census census = inspection.census();
        List<String> notes = new ArrayList<>();
        if (inspection.stored().isPresent()) {
            notes.add("counted in the files");
            inspection
                    .differences()
                    .forEach(difference -> notes.add(difference.role().key() + ": "
                            + number(difference.stored()) + " in the files, "
                            + number(difference.expected()) + " by config.json"));
        } else {
            notes.add("counted by config.json; "
                    + inspection
                            .elementType()
                            .map(type -> "bytes as " + Moe.line(type))
                            .orElse("it does not say of which type"));
            inspection
                    .quantization()
                    .ifPresent(kind -> notes.add("the files are packed (" + Moe.line(kind) + ") and take less"));
            census.unknown().forEach((role, reason) -> notes.add(role.key() + ": needs the files,\n  as " + reason));
        }
        census.prediction()
                .ifPresent(count -> notes.add("apart: layers that predict further tokens, " + number(count.parameters())
                        + " parameters, " + bytes(count.bytes())));
        if (!census.others().isEmpty()) {
            List<String> shown =
                    census.others().stream().limit(MOST_SHOWN).map(Moe::line).toList();
            int left = census.others().size() - shown.size();
            notes.add("other: " + String.join(",\n  ", shown) + (left == 0 ? "" : " and " + left + " more"));
        }
        return notes;
    }

    private static String merge(InitialMerge merge) {
        List<List<String>> rows = List.of(row("equal", merge.uniform()), row("normal", merge.normal()));
        return new Table(
                                List.of(
                                        "logits",
                                        "sum p",
                                        "sum p^2",
                                        "weighted mean",
                                        "variance ratio",
                                        "RMS ratio",
                                        "cosine"),
                                1,
                                rows)
                        .aligned()
                + String.format(
                        Locale.ROOT,
                        """
                        a fresh layer beside a dense one of its active width, with r = %s p and s = %s
                        normal logits: standard deviation %.4f, %d tokens, seed %d
                        standard errors: %.1e of sum p, %.1e of sum p^2
                        """,
                        merge.routedScale(),
                        merge.sharedScale(),
                        merge.logitSpread(),
                        InitialMerge.TOKENS,
                        InitialMerge.SEED,
                        merge.normal().errorOfSum(),
                        merge.normal().errorOfSquares());
    }

    private static List<String> row(String logits, InitialMerge.Prediction prediction) {
        MergeScale scale = prediction.scale();
        return List.of(
                logits,
                decimal(prediction.sumOfWeights()),
                decimal(prediction.sumOfSquares()),
                decimal(scale.weightedMean()),
                decimal(scale.varianceRatio()),
                decimal(scale.rmsRatio()),
                decimal(scale.cosine()));
    }

    private static String decimal(double number) {
        return String.format(Locale.ROOT, "%.4f", number);
    }

    private static String number(long number) {
        return String.format(Locale.ROOT, "%,d", number);
    }

    private static String share(long part, OptionalLong total) {
        return total.isEmpty() || total.getAsLong() == 0
                ? "?"
                : String.format(Locale.ROOT, "%.1f %%", 100.0 * part / total.getAsLong());
    }

    /** As {@code 12.89 GiB}. */
    static String bytes(OptionalLong bytes) {
        if (bytes.isEmpty()) {
            return "?";
        }
        double size = bytes.getAsLong();
        int unit = 0;
        while (size >= 1024 && unit < UNITS.size() - 1) {
            size /= 1024;
            unit++;
        }
        return unit == 0 ? bytes.getAsLong() + " B" : String.format(Locale.ROOT, "%.2f %s", size, UNITS.get(unit));
    }
}
