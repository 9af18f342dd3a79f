package org.moe4j.bench.routing;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Point;
import org.moe4j.router.analysis.BatchCollapse;

/** How many experts tokens need together. */
final class BatchPart {
    private static final int MOST_PASSAGES = 6;
    private static final int MOST_TICKS = 9;

    private BatchPart() {}

    static Part of(Measures measures) {
        List<Sheet> sheets = new ArrayList<>(List.of(sheet(measures)));
        List<Picture> pictures = new ArrayList<>();
        List<LineFigure.Panel> panels = new ArrayList<>();
        measures.passages().stream()
                .limit(MOST_PASSAGES)
                .filter(of -> pooled(of).sizes().length > 1)
                .forEach(of -> panels.add(panel(of)));
        if (!panels.isEmpty()) {
            pictures.add(new Picture(
                    "batch",
                    "Mean over blocks and layers; the band reaches from the layer that needs the fewest to the one that needs the most.",
                    new LineFigure(
                            "How many experts does a batch need?",
                            LoadPart.sizes(measures),
                            List.of("measured", "no two tokens share", "independent, uniform"),
                            "Band: the layers.",
                            panels)));
        }
        measures.mixture().ifPresent(mixture -> sheets.add(mixed(mixture)));
        return new Part(
                "batch",
                "Batches",
                "Consecutive tokens are cut into blocks, and the distinct experts of each are counted: the mean over blocks and layers."
                        + " The worst case is min(E, B·K); independent uniform routing would need E·(1 - (1 - K/E)^B).",
                sheets,
                pictures);
    }

    private static BatchCollapse pooled(Measures.OfPassage of) {
        return BatchCollapse.of(of.layers().stream().map(LayerMeasures::batch).toList());
    }

    private static Sheet sheet(Measures measures) {
        List<Column> columns = List.of(
                Column.plain("passage", "passage"),
                Column.plain("tokens_together", "tokens together"),
                Column.plain("blocks", "blocks"),
                new Column("experts_needed", "experts needed", Column.Form.TENTHS),
                new Column("share_of_experts", "of all", Column.Form.PERCENT),
                new Column("worst_case", "worst case", Column.Form.TENTHS),
                new Column("independent_uniform", "independent, uniform", Column.Form.TENTHS),
                new Column("slots", "slots", Column.Form.TENTHS));
        List<List<Cell>> rows = new ArrayList<>();
        for (Measures.OfPassage of : measures.passages()) {
            BatchCollapse batch = pooled(of);
            for (long size : batch.sizes()) {
                rows.add(List.of(
                        Cell.of(of.passage().name()),
                        Cell.of(size),
                        Cell.of(batch.blocks(size)),
                        Cell.of(batch.needed(size)),
                        Cell.of(batch.neededShare(size)),
                        Cell.of(batch.worstCase(size)),
                        Cell.of(batch.independentUniform(size)),
                        Cell.of(size * batch.expertsPerToken())));
            }
        }
        return new Sheet("batch", "Experts that tokens need together", 1, columns, rows);
    }

    private static Sheet mixed(Measures.Mixture mixture) {
        List<Column> columns = List.of(
                Column.plain("tokens_together", "tokens together"),
                new Column("one_passage", "parts of one passage", Column.Form.TENTHS),
                new Column("all_passages", "all passages", Column.Form.TENTHS),
                new Column("difference", "difference", Column.Form.TENTHS));
        List<List<Cell>> rows = new ArrayList<>();
        for (long size : mixture.mixed().sizes()) {
            double alone = mixture.alone().needed(size);
            double mixed = mixture.mixed().needed(size);
            rows.add(List.of(Cell.of(size), Cell.of(alone), Cell.of(mixed), Cell.of(mixed - alone)));
        }
        return new Sheet(
                "batch_mixed",
                "Experts needed by a batch of parts of one passage, and of all passages: " + mixture.tokens()
                        + " tokens of each, in turns",
                0,
                columns,
                rows);
    }

    private static LineFigure.Panel panel(Measures.OfPassage of) {
        BatchCollapse batch = pooled(of);
        long[] sizes = batch.sizes();
        List<Point> measured = Arrays.stream(sizes)
                .mapToObj(size -> {
                    double[] layers = of.layers().stream()
                            .mapToDouble(layer -> layer.batch().needed(size))
                            .sorted()
                            .toArray();
                    return new Point(size, batch.needed(size), layers[0], layers[layers.length - 1]);
                })
                .toList();
        List<Point> worst = Arrays.stream(sizes)
                .mapToObj(size -> point((double) size, batch.worstCase(size)))
                .toList();
        List<Point> uniform = Arrays.stream(sizes)
                .mapToObj(size -> point((double) size, batch.independentUniform(size)))
                .toList();
        int experts = batch.experts();
        return new LineFigure.Panel(
                of.passage().name(),
                new Axis("tokens together (log scale)", ticks(sizes), true),
                new Axis(
                        "experts needed, of " + experts,
                        IntStream.rangeClosed(0, 4)
                                .mapToObj(i -> i * experts / 4.0)
                                .toList(),
                        false),
                List.of(),
                List.of(measured, worst, uniform));
    }

    /** The first and the last, and as many between them as can be read. */
    private static List<Double> ticks(long[] sizes) {
        int step = Math.max(1, (sizes.length + MOST_TICKS - 3) / (MOST_TICKS - 1));
        List<Double> ticks = new ArrayList<>();
        for (int i = sizes.length - 1; i >= step; i -= step) {
            ticks.add(0, (double) sizes[i]);
        }
        ticks.add(0, 1.0);
        return ticks;
    }

    private static Point point(double x, double y) {
        return new Point(x, y, y, y);
    }
}
