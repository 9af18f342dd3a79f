package org.moe4j.bench.routing;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.moe4j.checkpoint.trace.TraceFile;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.analysis.LogitSource;
import org.moe4j.router.analysis.token.TokenExplanation;

/** One token over all layers, and at one layer in full. */
final class TokenPart {
    private final Measures measures;
    private final long token;

    private TokenPart(Measures measures, long token) {
        this.measures = measures;
        this.token = token;
    }

    static Optional<Part> of(Measures measures) {
        return measures.settings().token().isPresent()
                ? Optional.of(
                        new TokenPart(measures, measures.settings().token().getAsLong()).part())
                : Optional.empty();
    }

    private Part part() {
        List<Sheet> sheets = new ArrayList<>(List.of(overLayers()));
        measures.settings().layer().ifPresent(layer -> sheets.add(atLayer(layer)));
        return new Part(
                "token",
                "Token " + token,
                "Which experts the token goes to in each layer. Kept is what the scores of its experts add up to, discarded what those"
                        + " of all others do; both are 1 together for softmax. Share is the first expert's part of the kept weights."
                        + " Scores need logits; where experts were recorded beside them, \"as recorded\" says whether the rule"
                        + " chooses the same.",
                sheets,
                List.of());
    }

    private Sheet overLayers() {
        List<Column> columns = List.of(
                Column.plain("passage", "passage"),
                Column.plain("layer", "layer"),
                Column.plain("experts", "experts, best first"),
                Column.plain("top_expert", "top-1"),
                new Column("top_weight", "its weight", Column.Form.FOUR_DECIMALS),
                new Column("kept", "kept", Column.Form.FOUR_DECIMALS),
                new Column("discarded", "discarded", Column.Form.FOUR_DECIMALS),
                new Column("weight_sum", "weight sum", Column.Form.FOUR_DECIMALS),
                new Column("top_share", "share", Column.Form.HUNDREDTHS),
                Column.plain("as_recorded", "as recorded"));
        List<List<Cell>> rows = new ArrayList<>();
        for (Measures.OfPassage of : measures.passages()) {
            for (String layer : measures.layers()) {
                rows.add(row(of.passage(), layer));
            }
        }
        return new Sheet("token", "Token " + token + " in each layer", 3, columns, rows);
    }

    private List<Cell> row(Passage passage, String layer) {
        Optional<int[]> recorded = recorded(passage.trace(), layer);
        Optional<TokenExplanation> explained = explained(passage.trace(), layer);
        int[] experts = explained.map(TokenPart::experts).or(() -> recorded).orElseThrow();
        List<Cell> row = new ArrayList<>(List.of(
                Cell.of(passage.name()),
                Cell.of(layer),
                Cell.of(Arrays.toString(experts).replaceAll("[\\[\\]]", "")),
                experts.length == 0 ? Cell.nothing() : Cell.of((long) experts[0])));
        if (explained.isEmpty()) {
            row.addAll(ofWeights(recordedWeights(passage.trace(), layer)));
            return row;
        }
        TokenExplanation token = explained.get();
        row.add(token.top().map(top -> Cell.of(top.weight())).orElseGet(Cell::nothing));
        row.add(Cell.of(token.kept()));
        row.add(Cell.of(token.discarded()));
        row.add(Cell.of(token.weightSum()));
        row.add(Cell.of(token.topShare()));
        row.add(recorded.map(of -> Cell.of(same(of, experts) ? "yes" : "no")).orElseGet(Cell::nothing));
        return row;
    }

    /** The columns from a token's first weight on, without logits. */
    private static List<Cell> ofWeights(Optional<Routing> recorded) {
        if (recorded.isEmpty() || recorded.get().slots() == 0) {
            return Collections.nCopies(6, Cell.nothing());
        }
        Routing routing = recorded.get();
        double sum = 0;
        for (int rank = 0; rank < routing.count(0); rank++) {
            sum += routing.weight(0, rank);
        }
        double first = routing.weight(0, 0);
        return List.of(
                Cell.of(first),
                Cell.nothing(),
                Cell.nothing(),
                Cell.of(sum),
                Cell.of(sum == 0 ? 0 : first / sum),
                Cell.nothing());
    }

    private Optional<Routing> recordedWeights(TraceFile trace, String layer) {
        return trace.hasWeights(layer) ? Optional.of(trace.routing(layer, token, 1)) : Optional.empty();
    }

    private static boolean same(int[] recorded, int[] experts) {
        int[] one = recorded.clone();
        int[] other = experts.clone();
        Arrays.sort(one);
        Arrays.sort(other);
        return Arrays.equals(one, other);
    }

    private static int[] experts(TokenExplanation token) {
        return token.chosen().stream().mapToInt(TokenExplanation.Chosen::expert).toArray();
    }

    private Optional<int[]> recorded(TraceFile trace, String layer) {
        return trace.recorded(layer).map(source -> source.block(token, 1).expertsOf(0));
    }

    private Optional<TokenExplanation> explained(TraceFile trace, String layer) {
        Optional<LogitSource> logits = trace.logits(layer);
        if (logits.isEmpty() || measures.settings().scores().isPresent()) { // a bias that nobody recorded chose
            return Optional.empty();
        }
        RouterConfig rule = measures.settings().scoring(trace);
        return Optional.of(
                TokenExplanation.overLayers(List.of(logits.get()), token, rule).get(0));
    }

    private Sheet atLayer(String layer) {
        List<Column> columns = List.of(
                Column.plain("passage", "passage"),
                Column.plain("rank", "rank"),
                Column.plain("expert", "expert"),
                new Column("logit", "logit", Column.Form.FOUR_DECIMALS),
                new Column("score", "score", Column.Form.FOUR_DECIMALS),
                new Column("weight", "weight", Column.Form.FOUR_DECIMALS));
        List<List<Cell>> rows = new ArrayList<>();
        for (Measures.OfPassage of : measures.passages()) {
            List<List<Cell>> chosen = chosen(of.passage().trace(), layer);
            for (int rank = 0; rank < chosen.size(); rank++) {
                List<Cell> row = new ArrayList<>(List.of(Cell.of(of.passage().name()), Cell.of(rank + 1L)));
                row.addAll(chosen.get(rank));
                rows.add(row);
            }
        }
        return new Sheet("token_at_layer", "Token " + token + " in layer " + layer, 1, columns, rows);
    }

    /** Expert, logit, score and weight of each rank, as far as they are known. */
    private List<List<Cell>> chosen(TraceFile trace, String layer) {
        Optional<TokenExplanation> explained = explained(trace, layer);
        if (explained.isPresent()) {
            return explained.get().chosen().stream()
                    .map(chosen -> List.of(
                            Cell.of((long) chosen.expert()),
                            Cell.of(chosen.logit()),
                            Cell.of(chosen.score()),
                            Cell.of(chosen.weight())))
                    .toList();
        }
        int[] experts = recorded(trace, layer).orElseThrow();
        Optional<Routing> routing = recordedWeights(trace, layer);
        List<List<Cell>> rows = new ArrayList<>();
        for (int rank = 0; rank < experts.length; rank++) {
            int place = rank;
            Cell weight = routing.map(of -> Cell.of(of.weight(0, place))).orElseGet(Cell::nothing);
            rows.add(List.of(Cell.of((long) experts[rank]), Cell.nothing(), Cell.nothing(), weight));
        }
        return rows;
    }
}
