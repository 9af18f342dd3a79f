package org.moe4j.bench.run;

import java.util.List;
import java.util.Locale;
import org.moe4j.bench.routing.Cell;
import org.moe4j.bench.routing.Column;
import org.moe4j.bench.routing.Part;
import org.moe4j.bench.routing.Sheet;
import org.moe4j.core.backend.Matrix;
import org.moe4j.router.TopKRouter;
import org.moe4j.router.analysis.token.PrecisionProbe;

/** Whether the precision of the router's product moves the choice of any token. */
final class PrecisionPart {
    private PrecisionPart() {}

    static Part of(TopKRouter router, Matrix tokens) {
        List<List<Cell>> rows = PrecisionProbe.of(router).add(tokens).changes().stream()
                .map(change -> List.of(
                        Cell.of(name(change.of())),
                        Cell.of(name(change.than())),
                        Cell.of(change.largestLogitChange()),
                        Cell.of(change.largestScoreChange()),
                        Cell.of(change.sameExperts()),
                        Cell.of(change.tokens())))
                .toList();
        return new Part(
                "precision",
                "Precision of the router",
                "The logits of all tokens of the input, computed again in three precisions.",
                List.of(new Sheet(
                        "precision",
                        "Logits of all tokens in two precisions",
                        2,
                        List.of(
                                Column.plain("of", "of"),
                                Column.plain("than", "beside"),
                                new Column("logit_change", "largest change of a logit", Column.Form.SIX_DIGITS),
                                new Column("score_change", "of a score", Column.Form.SIX_DIGITS),
                                Column.plain("same_experts", "tokens with the same experts"),
                                Column.plain("tokens", "tokens")),
                        rows)),
                List.of());
    }

    private static String name(PrecisionProbe.Precision precision) {
        return precision.name().toLowerCase(Locale.ROOT);
    }
}
