package org.moe4j.bench.routing;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.loss.RouterLosses.Running;

/** Losses of a routing in the normalisation of each system. */
final class LossPart {
    private LossPart() {}

    static Optional<Part> of(Measures measures) {
        List<Measures.OfPassage> passages = measures.passages().stream()
                .filter(of -> !of.losses().isEmpty())
                .toList();
        return passages.isEmpty()
                ? Optional.empty()
                : Optional.of(new Part(
                        "losses",
                        "Losses",
                        "The balance loss as each system normalises it, and the z-loss, from the router logits: as the system adds its"
                                + " layers up, as the mean of the layers, and pooled, with the tokens of all layers as one group, in"
                                + " which one layer's favourites make up for another's. A contribution is the coefficient times the"
                                + " value. The router's scores are "
                                + scores(measures) + ".",
                        List.of(losses(passages), byLayer(passages)),
                        List.of()));
    }

    private static String scores(Measures measures) {
        ScoreFunction score = measures.settings()
                .scoring(measures.passages().get(0).passage().trace())
                .score();
        return score instanceof ScoreFunction.Softmax ? "softmax of the logits" : "those of " + score;
    }

    /** Losses of finite logits may be too large for a number. */
    private static Cell finite(Measures.OfPassage of, Running.Value loss, double value) {
        if (!Double.isFinite(value)) {
            throw new ArithmeticException(of.passage().trace().path() + ": router_logits: expected a finite "
                    + loss.loss().name() + " but was " + value + "; logits or coefficient are too large");
        }
        return Cell.of(value);
    }

    private static Sheet losses(List<Measures.OfPassage> passages) {
        List<Column> columns = List.of(
                Column.plain("passage", "passage"),
                Column.plain("loss", "loss"),
                new Column("value", "value", Column.Form.FOUR_DECIMALS),
                new Column("mean_per_layer", "mean per layer", Column.Form.FOUR_DECIMALS),
                new Column("pooled", "pooled", Column.Form.FOUR_DECIMALS),
                new Column("coefficient", "coefficient", Column.Form.PLAIN),
                new Column("contribution", "contribution", Column.Form.FOUR_DECIMALS));
        List<List<Cell>> rows = new ArrayList<>();
        for (Measures.OfPassage of : passages) {
            for (Running.Value value : of.losses()) {
                rows.add(List.of(
                        Cell.of(of.passage().name()),
                        Cell.of(value.loss().name()),
                        finite(of, value, value.value()),
                        finite(of, value, value.meanPerLayer()),
                        finite(of, value, value.pooled()),
                        Cell.of(value.loss().coefficient()),
                        finite(of, value, value.contribution())));
            }
        }
        return new Sheet("losses", "Losses", 2, columns, rows);
    }

    private static Sheet byLayer(List<Measures.OfPassage> passages) {
        List<Column> columns =
                new ArrayList<>(List.of(Column.plain("passage", "passage"), Column.plain("layer", "layer")));
        for (Running.Value value : passages.get(0).losses()) {
            String name = value.loss().name();
            columns.add(new Column(name, name.substring(name.lastIndexOf('.') + 1), Column.Form.FOUR_DECIMALS));
        }
        List<List<Cell>> rows = new ArrayList<>();
        for (Measures.OfPassage of : passages) {
            for (int layer = 0; layer < of.layers().size(); layer++) {
                int index = layer;
                List<Cell> row = new ArrayList<>(List.of(
                        Cell.of(of.passage().name()),
                        Cell.of(of.layers().get(layer).layer())));
                of.losses()
                        .forEach(value ->
                                row.add(finite(of, value, value.perLayer().get(index))));
                rows.add(row);
            }
        }
        return new Sheet("losses_by_layer", "Losses of each layer alone", 2, columns, rows);
    }
}
