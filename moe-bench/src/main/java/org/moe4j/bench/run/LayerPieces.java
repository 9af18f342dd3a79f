package org.moe4j.bench.run;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.moe4j.bench.routing.Cell;
import org.moe4j.bench.routing.Column;
import org.moe4j.bench.routing.Part;
import org.moe4j.bench.routing.Sheet;
import org.moe4j.checkpoint.block.MoeBlock;
import org.moe4j.checkpoint.block.MoeBlockPass;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.router.TopKRouter;
import org.moe4j.router.analysis.token.DotProducts;
import org.moe4j.router.analysis.token.LayerExplanation;
import org.moe4j.router.analysis.token.LayerExplanation.Contribution;
import org.moe4j.router.analysis.token.TokenExplanation;
import org.moe4j.router.analysis.token.TokenExplanation.Chosen;

/** What the router makes of a token, and what each expert adds. */
record LayerPieces(TokenExplanation routing, DotProducts products, LayerExplanation layer, int token) {
    static LayerPieces of(MoeLayer moe, TopKRouter router, Matrix tokens, int token) {
        DotProducts products = DotProducts.of(router, tokens, token);
        double[] logits =
                products.given().stream().mapToDouble(Double::doubleValue).toArray();
        TokenExplanation routing = router.selectionBias()
                .map(bias -> TokenExplanation.of(router.config(), logits, bias))
                .orElseGet(() -> TokenExplanation.of(router.config(), logits));
        return new LayerPieces(routing, products, LayerExplanation.of(moe, tokens, token), token);
    }

    /** The layer alone. */
    Part part() {
        return part(facts());
    }

    /** The layer in the residual stream. */
    Part part(MoeBlock block, Matrix hidden) {
        List<List<Cell>> facts = facts();
        double[] residual = row(hidden, token);
        try (MoeBlockPass pass = block.forward(hidden);
                Matrix made = pass.output()) {
            double[] output = row(made, token);
            facts.add(fact("residual_length", "|h|, the residual stream", Cell.of(length(residual))));
            facts.add(fact("block_length", "|h + …|, what leaves the block", Cell.of(length(output))));
            if (block.behind().isEmpty()) { // with a norm behind it is not y that is added
                double[] sum = layer.withResidual(residual);
                double largest = 0;
                for (int i = 0; i < sum.length; i++) {
                    largest = Math.max(largest, Math.abs(sum[i] - output[i]));
                }
                facts.add(fact("block_difference", "largest difference from h + y, any coordinate", Cell.of(largest)));
            }
        }
        return part(facts);
    }

    private Part part(List<List<Cell>> facts) {
        List<Sheet> sheets = new ArrayList<>(List.of(experts()));
        if (!layer.shared().isEmpty()) {
            sheets.add(shared());
        }
        sheets.add(new Sheet(
                "facts",
                "The token as a whole",
                2,
                List.of(
                        Column.plain("fact", "key"),
                        Column.plain("meaning", "what"),
                        new Column("value", "value", Column.Form.SIX_DIGITS)),
                facts));
        return new Part(
                "token",
                "Token " + token,
                "What an expert changes is its coefficient times the length of what it proposes; the router controls the first alone.",
                sheets,
                List.of());
    }

    private Sheet experts() {
        List<List<Cell>> rows = new ArrayList<>();
        for (int rank = 0; rank < layer.routed().size(); rank++) {
            Chosen chosen = routing.chosen().get(rank);
            Contribution adds = layer.routed().get(rank);
            rows.add(List.of(
                    Cell.of(rank + 1L),
                    Cell.of((long) chosen.expert()),
                    Cell.of(chosen.logit()),
                    Cell.of(chosen.score()),
                    Cell.of(chosen.weight()),
                    Cell.of(adds.coefficient()),
                    Cell.of(adds.proposed()),
                    Cell.of(adds.length())));
        }
        return new Sheet(
                "experts",
                "Experts of the token, best first",
                0,
                List.of(
                        Column.plain("rank", "rank"),
                        Column.plain("expert", "expert"),
                        new Column("logit", "logit", Column.Form.FOUR_DECIMALS),
                        new Column("score", "score", Column.Form.FOUR_DECIMALS),
                        new Column("weight", "weight", Column.Form.FOUR_DECIMALS),
                        new Column("coefficient", "coefficient r", Column.Form.FOUR_DECIMALS),
                        new Column("proposed", "|FFN(x)|", Column.Form.SIX_DIGITS),
                        new Column("contribution", "|r FFN(x)|", Column.Form.SIX_DIGITS)),
                rows);
    }

    private Sheet shared() {
        List<List<Cell>> rows = new ArrayList<>();
        for (Contribution adds : layer.shared()) {
            rows.add(List.of(
                    Cell.of((long) adds.expert()),
                    Cell.of(adds.coefficient()),
                    Cell.of(adds.proposed()),
                    Cell.of(adds.length())));
        }
        return new Sheet(
                "shared",
                "Shared experts",
                0,
                List.of(
                        Column.plain("expert", "expert"),
                        new Column("coefficient", "coefficient s", Column.Form.FOUR_DECIMALS),
                        new Column("proposed", "|FFN(x)|", Column.Form.SIX_DIGITS),
                        new Column("contribution", "|s FFN(x)|", Column.Form.SIX_DIGITS)),
                rows);
    }

    private List<List<Cell>> facts() {
        double[] byHand =
                layer.byHand().stream().mapToDouble(Double::doubleValue).toArray();
        return new ArrayList<>(List.of(
                fact("kept", "scores of the chosen experts, added up", Cell.of(routing.kept())),
                fact("discarded", "scores of all others", Cell.of(routing.discarded())),
                fact("weight_sum", "weights, added up", Cell.of(routing.weightSum())),
                fact("top_share", "the first expert's part of the weights", Cell.of(routing.topShare())),
                fact(
                        "logits_matching",
                        "logits that are plain dot products, of "
                                + products.given().size(),
                        Cell.of((long) products.matching())),
                fact("logit_difference", "largest difference of one", Cell.of(products.largestDifference())),
                fact("length_by_hand", "|y|, the contributions added up", Cell.of(length(byHand))),
                fact("length", "|y|, the layer's own", Cell.of(layer.outputLength())),
                fact("difference", "largest difference, any coordinate", Cell.of(layer.largestDifference()))));
    }

    private static List<Cell> fact(String key, String meaning, Cell value) {
        return List.of(Cell.of(key), Cell.of(meaning), value);
    }

    private static double[] row(Matrix matrix, int row) {
        double[] numbers = new double[matrix.columns()];
        matrix.readRows(row, row + 1, numbers);
        return numbers;
    }

    private static double length(double[] numbers) {
        return Math.sqrt(Arrays.stream(numbers).map(number -> number * number).sum());
    }
}
