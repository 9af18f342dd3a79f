package org.moe4j.bench.routing;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import org.moe4j.bench.support.HeatFigure;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Reference;
import org.moe4j.bench.support.ManyBarsFigure;
import org.moe4j.router.analysis.CoActivation;
import org.moe4j.router.analysis.ExpertLoad;

/** How even the load is. */
final class LoadPart {
    private static final int MOST_PASSAGES = 6;

    private LoadPart() {}

    static Part of(Measures measures) {
        List<Picture> pictures = new ArrayList<>();
        pictures.add(heat(measures));
        pictures.add(bars(measures));
        if (!measures.together().isEmpty() && measures.experts() > 1) {
            pictures.add(together(measures));
        }
        return new Part(
                "load",
                "Load",
                "How the slots of a layer (its tokens times their experts) are spread over its experts. An even share is 1/E. CV is the"
                        + " standard deviation of the shares over their mean; the maximum violation is the busiest share over the even"
                        + " one, less 1; entropy is in nats, at most ln E; rows per call are those of the experts that are called when"
                        + " the passage is one batch.",
                List.of(sheet(measures)),
                pictures);
    }

    private static Sheet sheet(Measures measures) {
        List<Column> columns = List.of(
                Column.plain("passage", "passage"),
                Column.plain("layer", "layer"),
                Column.plain("slots", "slots"),
                Column.plain("busiest_expert", "busiest"),
                new Column("busiest_share", "its share", Column.Form.PERCENT),
                Column.plain("quietest_expert", "quietest"),
                new Column("quietest_share", "its share", Column.Form.PERCENT),
                new Column("busiest_versus_even", "busiest vs even", Column.Form.TIMES),
                new Column("maximum_violation", "max violation", Column.Form.HUNDREDTHS),
                new Column("variation", "CV", Column.Form.HUNDREDTHS),
                new Column("entropy_nats", "entropy", Column.Form.THOUSANDTHS),
                Column.plain("idle_experts", "idle"),
                Column.plain("fewest_rows", "fewest rows"),
                new Column("median_rows", "median", Column.Form.TENTHS),
                Column.plain("most_rows", "most"));
        List<List<Cell>> rows = new ArrayList<>();
        for (Measures.OfPassage of : measures.passages()) {
            of.layers().forEach(layer -> rows.add(row(of.passage().name(), layer)));
        }
        return new Sheet("load", "Load of each layer", 2, columns, rows);
    }

    private static List<Cell> row(String passage, LayerMeasures layer) {
        ExpertLoad load = layer.load();
        ExpertLoad.RowsPerCall rows = load.rowsPerCall();
        return List.of(
                Cell.of(passage),
                Cell.of(layer.layer()),
                Cell.of(load.assignments()),
                Cell.of((long) load.busiest()),
                Cell.of(load.share(load.busiest())),
                Cell.of((long) load.quietest()),
                Cell.of(load.share(load.quietest())),
                Cell.of(load.busiestVersusEven()),
                Cell.of(load.maximumViolation()),
                Cell.of(load.variation()),
                Cell.of(load.entropy()),
                Cell.of((long) load.idle()),
                Cell.of(rows.fewest()),
                Cell.of(rows.median()),
                Cell.of(rows.most()));
    }

    private static Picture heat(Measures measures) {
        int experts = measures.experts();
        List<HeatFigure.Panel> panels = new ArrayList<>();
        for (Measures.OfPassage of :
                measures.passages().stream().limit(MOST_PASSAGES).toList()) {
            List<List<Double>> values = of.layers().stream()
                    .map(layer -> Arrays.stream(layer.load().shares())
                            .mapToObj(share -> share * experts)
                            .toList())
                    .toList();
            panels.add(new HeatFigure.Panel(
                    of.passage().name(),
                    new HeatFigure.Side("layer", measures.layers()),
                    new HeatFigure.Side("expert", numbers(experts)),
                    values));
        }
        return new Picture(
                "load-map",
                "One row for each layer, one cell for each expert: its share of the layer's slots over the even share.",
                new HeatFigure(
                        "How much does each expert take in each layer?", sizes(measures), overEven(panels), panels));
    }

    private static Picture bars(Measures measures) {
        double even = 100.0 / measures.experts();
        List<ManyBarsFigure.Panel> panels = new ArrayList<>();
        for (Measures.OfPassage of :
                measures.passages().stream().limit(MOST_PASSAGES).toList()) {
            for (int layer : measures.shown()) {
                ExpertLoad load = of.layers().get(layer).load();
                double[] ascending = Arrays.stream(load.shares()).sorted().toArray();
                List<Double> bars = IntStream.range(0, ascending.length)
                        .mapToObj(i -> 100 * ascending[ascending.length - 1 - i])
                        .toList();
                panels.add(new ManyBarsFigure.Panel(
                        String.format(
                                Locale.ROOT,
                                "%s, layer %s: expert %d takes %.2f %%, %.2f times the even share; %d idle",
                                of.passage().name(),
                                of.layers().get(layer).layer(),
                                load.busiest(),
                                100 * load.share(load.busiest()),
                                load.busiestVersusEven(),
                                load.idle()),
                        "experts, busiest first",
                        Axis.reaching("share of slots, %", Math.max(even, bars.get(0))),
                        new Reference(even, String.format(Locale.ROOT, "even: %.2f %%", even)),
                        bars));
            }
        }
        return new Picture(
                "load-bars",
                "Experts of the first, the middle and the last layer in the order of their load.",
                new ManyBarsFigure("How uneven is the load?", sizes(measures), panels));
    }

    /** Without the diagonal, on which everything is 1. */
    private static Picture together(Measures measures) {
        int experts = measures.experts();
        List<String> names = numbers(experts);
        double most = 0;
        List<HeatFigure.Panel> panels = new ArrayList<>();
        for (Map.Entry<Integer, CoActivation> entry : measures.together().entrySet()) {
            CoActivation chosen = entry.getValue();
            List<List<Double>> values = new ArrayList<>();
            for (int i = 0; i < experts; i++) {
                List<Double> row = new ArrayList<>();
                for (int j = 0; j < experts; j++) {
                    row.add(i == j ? 0 : chosen.share(i, j));
                    most = Math.max(most, row.get(j));
                }
                values.add(row);
            }
            panels.add(new HeatFigure.Panel(
                    "layer " + measures.layers().get(entry.getKey()),
                    new HeatFigure.Side("expert i", names),
                    new HeatFigure.Side("expert j", names),
                    values));
        }
        return new Picture(
                "together",
                "Of the tokens of expert i (row) the part that goes to expert j (column) too, over all passages; the diagonal is left"
                        + " out.",
                new HeatFigure(
                        "Which experts are chosen together?",
                        sizes(measures),
                        Axis.reaching("share of the row's tokens", most),
                        panels));
    }

    /** A scale for shares in units of the even one, from 0 to at least 1. */
    static Axis overEven(List<HeatFigure.Panel> panels) {
        double most =
                panels.stream().mapToDouble(HeatFigure.Panel::largest).max().orElse(1);
        return Axis.reaching("share of slots over the even share (1 = even)", Math.max(1, most));
    }

    static List<String> numbers(int count) {
        return IntStream.range(0, count).mapToObj(Integer::toString).toList();
    }

    /** Subtitle of pictures; says of synthetic traces that they are. */
    static String sizes(Measures measures) {
        int count = measures.passages().size();
        long made = measures.passages().stream()
                .filter(of -> of.passage().synthetic().isPresent())
                .count();
        String label = made == 0 ? "" : made == count ? "SYNTHETIC. " : "SYNTHETIC: " + made + " of ";
        return label + count(count, "passage") + ", " + count(measures.layers().size(), "layer") + ", "
                + count(measures.experts(), "expert")
                + (count > MOST_PASSAGES ? "; the first " + MOST_PASSAGES + " passages are drawn" : "");
    }

    private static String count(int number, String what) {
        return number + " " + what + (number == 1 ? "" : "s");
    }
}
