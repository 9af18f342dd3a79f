package org.moe4j.bench.routing;

import java.util.List;
import org.moe4j.checkpoint.trace.TraceFile;

/** Which traces were read. */
final class TracePart {
    private TracePart() {}

    static Part of(Measures measures) {
        List<Column> columns = List.of(
                Column.plain("passage", "passage"),
                Column.plain("file", "file"),
                Column.plain("layers", "layers"),
                Column.plain("tokens", "tokens"),
                Column.plain("experts", "experts"),
                Column.plain("top_k", "top-k"),
                Column.plain("layers_with_logits", "with logits"),
                Column.plain("synthetic", "synthetic"));
        List<List<Cell>> rows =
                measures.passages().stream().map(of -> row(of.passage())).toList();
        return new Part(
                "traces",
                "Traces",
                "Each file is a passage: tokens that went through the same layers. Everything below is counted from their experts alone,"
                        + " or from their router logits where the part says so.",
                List.of(new Sheet("traces", "Traces", 2, columns, rows)),
                List.of());
    }

    private static List<Cell> row(Passage passage) {
        TraceFile trace = passage.trace();
        return List.of(
                Cell.of(passage.name()),
                Cell.of(passage.file()),
                Cell.of((long) trace.layers().size()),
                Cell.of(trace.tokens()),
                Cell.of((long) trace.experts()),
                Cell.of((long) trace.topK()),
                Cell.of(trace.layers().stream()
                        .filter(layer -> trace.logits(layer).isPresent())
                        .count()),
                passage.synthetic().map(Cell::of).orElseGet(Cell::nothing));
    }
}
