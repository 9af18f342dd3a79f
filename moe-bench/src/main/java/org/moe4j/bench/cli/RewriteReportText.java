package org.moe4j.bench.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.moe4j.bench.support.Decimal;
import org.moe4j.bench.support.Table;
import org.moe4j.checkpoint.RewriteReport;
import org.moe4j.checkpoint.safetensors.StoredRounding;

/** What {@code moe rewrite} says: as a table with lines below it, or as one JSON object. */
final class RewriteReportText {
    private RewriteReportText() {}

    static String of(RewriteReport report) {
        List<List<String>> rows = report.layers().stream()
                .map(layer -> List.of(
                        Integer.toString(layer.index()), difference(layer.computed()), difference(layer.stored())))
                .toList();
        StringBuilder text =
                new StringBuilder(new Table(List.of("layer", "difference", "as stored"), 0, rows).aligned());
        text.append("differences of outputs before and after, as parts of the largest output\n");
        if (report.scale() != 1) {
            line(text, "routed down projections: times " + Decimal.of(report.scale()));
        }
        report.settings().forEach(setting -> line(text, "config.json: " + Moe.line(setting.toString())));
        line(text, "tensors: " + report.rewritten() + " rewritten, " + report.kept() + " as they were");
        line(text, "rounding of stored values: " + rounding(report.rounding()));
        return text.toString();
    }

    private static void line(StringBuilder text, String line) {
        text.append(line).append('\n');
    }

    private static String rounding(StoredRounding rounding) {
        return rounding.rounded() == 0
                ? "none"
                : String.format(
                        Locale.ROOT,
                        "%,d of %,d numbers, by at most %.1e of a number",
                        rounding.rounded(),
                        rounding.numbers(),
                        rounding.largest());
    }

    private static String difference(double part) {
        return part == 0 ? "0" : String.format(Locale.ROOT, "%.1e", part);
    }

    static String json(RewriteReport report, Path checkpoint, Path out) throws IOException {
        ObjectNode root = JsonNodeFactory.instance
                .objectNode()
                .put("path", checkpoint.toString())
                .put("out", out.toString());
        ArrayNode layers = root.putArray("layers");
        report.layers()
                .forEach(layer -> layers.addObject()
                        .put("layer", layer.index())
                        .put("difference", layer.computed())
                        .put("difference_as_stored", layer.stored()));
        root.put("routed_down_factor", report.scale());
        ArrayNode settings = root.putArray("settings");
        report.settings()
                .forEach(setting -> settings.addObject()
                        .put("key", setting.key())
                        .put("before", setting.before())
                        .put("after", setting.after()));
        root.putObject("tensors").put("rewritten", report.rewritten()).put("kept", report.kept());
        root.putObject("rounding")
                .put("numbers", report.rounding().numbers())
                .put("rounded", report.rounding().rounded())
                .put("largest", report.rounding().largest());
        return new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValueAsString(root);
    }
}
