package org.moe4j.bench.routing;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.moe4j.router.analysis.ExpertLoad;
import org.moe4j.router.analysis.UsageDistance;

/** How differently passages use the experts. */
final class DistancePart {
    private static final int MOST_PAIRS_AS_COLUMNS = 6;
    private static final String MEAN = "mean";

    private final Measures measures;
    private final List<UsageDistance> layers;
    private final List<UsageDistance.Pair> pairs;

    private DistancePart(Measures measures) {
        this.measures = measures;
        layers = IntStream.range(0, measures.layers().size())
                .mapToObj(measures::distance)
                .toList();
        pairs = layers.get(0).pairs();
    }

    static Part of(Measures measures) {
        return new DistancePart(measures).part();
    }

    private Part part() {
        List<Sheet> sheets = new ArrayList<>(List.of(distances()));
        if (pairs.size() > MOST_PAIRS_AS_COLUMNS) {
            sheets.add(allPairs());
        }
        if (!pairs.isEmpty()) {
            sheets.add(preferences());
        }
        return new Part(
                "distance",
                "Distance between passages",
                "Total variation between the shares that two passages give to the experts of a layer: 0 where they are the same, 1 where"
                        + " no expert is used by both. Noise is the distance between the halves of a passage, the mean over the"
                        + " passages: chance moves short halves further apart than whole passages, so that it is rather too high."
                        + " Passages that are routed differently prove no different skills of the experts.",
                sheets,
                DistancePictures.of(measures, layers));
    }

    private String name(int passage) {
        return measures.passages().get(passage).passage().name();
    }

    private Sheet distances() {
        boolean wide = !pairs.isEmpty() && pairs.size() <= MOST_PAIRS_AS_COLUMNS;
        List<Column> columns = new ArrayList<>(
                List.of(Column.plain("layer", "layer"), new Column("noise", "noise", Column.Form.THOUSANDTHS)));
        if (wide) {
            pairs.forEach(pair -> columns.add(new Column(
                    "distance_" + (pair.first() + 1) + "_" + (pair.second() + 1),
                    name(pair.first()) + "/" + name(pair.second()),
                    Column.Form.THOUSANDTHS)));
        }
        columns.add(new Column("cross", "cross", Column.Form.THOUSANDTHS));
        columns.add(new Column("cross_over_noise", "cross/noise", Column.Form.TIMES));
        List<List<Cell>> rows = new ArrayList<>();
        for (int layer = 0; layer < layers.size(); layer++) {
            UsageDistance distance = layers.get(layer);
            List<Cell> row =
                    new ArrayList<>(List.of(Cell.of(measures.layers().get(layer)), Cell.of(distance.noiseFloor())));
            if (wide) {
                distance.pairs().forEach(pair -> row.add(Cell.of(pair.distance())));
            }
            row.add(pairs.isEmpty() ? Cell.nothing() : Cell.of(distance.cross()));
            row.add(cell(distance.crossOverNoise()));
            rows.add(row);
        }
        rows.add(meanRow(wide));
        return new Sheet("distance", "Distance between passages in each layer", 1, columns, rows);
    }

    /** Its ratio is that of the means, and not the mean of the ratios. */
    private List<Cell> meanRow(boolean wide) {
        double noise = mean(UsageDistance::noiseFloor);
        double cross = mean(UsageDistance::cross);
        List<Cell> row = new ArrayList<>(List.of(Cell.of(MEAN), Cell.of(noise)));
        if (wide) {
            for (int i = 0; i < pairs.size(); i++) {
                int pair = i;
                row.add(Cell.of(mean(layer -> layer.pairs().get(pair).distance())));
            }
        }
        row.add(pairs.isEmpty() ? Cell.nothing() : Cell.of(cross));
        row.add(pairs.isEmpty() || noise == 0 ? Cell.nothing() : Cell.of(cross / noise));
        return row;
    }

    private double mean(ToDoubleFunction<UsageDistance> quantity) {
        return layers.stream().mapToDouble(quantity).average().orElse(0);
    }

    private static Cell cell(OptionalDouble value) {
        return value.isPresent() ? Cell.of(value.getAsDouble()) : Cell.nothing();
    }

    private Sheet allPairs() {
        List<Column> columns = List.of(
                Column.plain("layer", "layer"),
                Column.plain("first", "passage"),
                Column.plain("second", "other"),
                new Column("distance", "distance", Column.Form.THOUSANDTHS));
        List<List<Cell>> rows = new ArrayList<>();
        for (int layer = 0; layer < layers.size(); layer++) {
            for (UsageDistance.Pair pair : layers.get(layer).pairs()) {
                rows.add(List.of(
                        Cell.of(measures.layers().get(layer)),
                        Cell.of(name(pair.first())),
                        Cell.of(name(pair.second())),
                        Cell.of(pair.distance())));
            }
        }
        return new Sheet("pairs", "Distance of each two passages", 3, columns, rows);
    }

    private Sheet preferences() {
        List<Column> columns = List.of(
                Column.plain("layer", "layer"),
                Column.plain("from", "from"),
                Column.plain("to", "to"),
                Column.plain("used_only_by_to", "experts that only \"to\" uses"),
                Column.plain("rises_most", "share rises most: expert"),
                Column.plain("slots_from", "slots of \"from\""),
                new Column("share_from", "share", Column.Form.PERCENT),
                Column.plain("slots_to", "slots of \"to\""),
                new Column("share_to", "share", Column.Form.PERCENT));
        List<List<Cell>> rows = new ArrayList<>();
        for (int layer : measures.shown()) {
            for (int from = 0; from < measures.passages().size(); from++) {
                for (int to = 0; to < measures.passages().size(); to++) {
                    if (from != to) {
                        rows.add(preference(layer, from, to));
                    }
                }
            }
        }
        return new Sheet(
                "preferences", "Experts that one passage prefers: first, middle and last layer", 3, columns, rows);
    }

    private List<Cell> preference(int layer, int from, int to) {
        ExpertLoad before = measures.passages().get(from).layers().get(layer).load();
        ExpertLoad after = measures.passages().get(to).layers().get(layer).load();
        int expert = UsageDistance.risesMost(before, after);
        return List.of(
                Cell.of(measures.layers().get(layer)),
                Cell.of(name(from)),
                Cell.of(name(to)),
                Cell.of((long) UsageDistance.usedOnlyBy(after, before).size()),
                Cell.of((long) expert),
                Cell.of(before.count(expert)),
                Cell.of(before.share(expert)),
                Cell.of(after.count(expert)),
                Cell.of(after.share(expert)));
    }
}
