package org.moe4j.bench.routing;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.moe4j.bench.support.HeatFigure;
import org.moe4j.bench.support.LineFigure;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Point;
import org.moe4j.bench.support.LineFigure.Reference;
import org.moe4j.bench.support.ManyBarsFigure;

/** A report of made-up numbers, with a name that is made to break a page. */
final class SampleReport {
    static final String HOSTILE =
            "\"><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">&amp;'--><!--]]>";

    private static final int EXPERTS = 64;
    private static final int LAYERS = 16;

    private SampleReport() {}

    static Report of(Optional<String> synthetic) {
        return new Report(
                "Routing of " + HOSTILE,
                synthetic,
                List.of(
                        new Part(
                                "load",
                                "Load " + HOSTILE,
                                "Text " + HOSTILE,
                                List.of(sheet()),
                                List.of(heat(), bars())),
                        new Part("batch", "Batches", "What a batch needs.", List.of(empty()), List.of(lines()))));
    }

    static Sheet sheet() {
        return new Sheet(
                "load",
                "Load " + HOSTILE,
                2,
                List.of(
                        Column.plain("passage", "passage"),
                        Column.plain("layer", "layer"),
                        Column.plain("tokens", "tokens"),
                        new Column("share", "share", Column.Form.PERCENT),
                        new Column("ratio", "ratio", Column.Form.TIMES)),
                List.of(
                        List.of(Cell.of(HOSTILE), Cell.of("0"), Cell.of(1234567L), Cell.of(0.0892), Cell.of(5.71)),
                        List.of(Cell.of("b"), Cell.of("1"), Cell.of(2L), Cell.of(0.1 + 0.2), Cell.nothing())));
    }

    private static Sheet empty() {
        return new Sheet("batch", "Batches", 1, List.of(Column.plain("size", "size")), List.of());
    }

    private static Picture heat() {
        SplittableRandom random = new SplittableRandom(5);
        List<HeatFigure.Panel> panels = new ArrayList<>();
        for (String name : List.of("prose", HOSTILE, "code")) {
            List<List<Double>> values = IntStream.range(0, LAYERS)
                    .mapToObj(layer -> random.doubles(EXPERTS, 0, 6).boxed().toList())
                    .toList();
            panels.add(new HeatFigure.Panel(
                    Html.line(name, 40),
                    new HeatFigure.Side("layer", names(LAYERS)),
                    new HeatFigure.Side("expert", names(EXPERTS)),
                    values));
        }
        return new Picture(
                "heat",
                "Caption " + HOSTILE,
                new HeatFigure(
                        "Which experts does each passage use?",
                        "made up",
                        Axis.reaching("load over the even share", 6),
                        panels));
    }

    private static Picture bars() {
        List<Double> bars =
                IntStream.range(0, 512).mapToObj(i -> 3.0 * Math.exp(-i / 90.0)).toList();
        ManyBarsFigure.Panel panel = new ManyBarsFigure.Panel(
                "layer 0",
                "experts, busiest first",
                Axis.reaching("share, %", 3),
                new Reference(100.0 / 512, "even: 0.20 %"),
                bars);
        return new Picture("bars", "One bar per expert.", new ManyBarsFigure("Load", "made up", List.of(panel)));
    }

    private static Picture lines() {
        List<Point> line = IntStream.range(0, 9)
                .mapToObj(i -> new Point(1 << i, 7 * i, 6 * i, 8 * i))
                .toList();
        Axis sizes = new Axis(
                "tokens together (log scale)",
                IntStream.range(0, 9).mapToObj(i -> (double) (1 << i)).toList(),
                true);
        LineFigure.Panel panel = new LineFigure.Panel(
                "prose",
                sizes,
                new Axis("experts needed", List.of(0.0, 16.0, 32.0, 48.0, 64.0), false),
                List.of(),
                List.of(line));
        return new Picture(
                "batch",
                "Mean over blocks.",
                new LineFigure(
                        "How many experts does a batch need?",
                        "made up",
                        List.of("measured"),
                        "",
                        List.of(panel, panel, panel, panel, panel)));
    }

    private static List<String> names(int count) {
        return IntStream.range(0, count).mapToObj(Integer::toString).toList();
    }
}
