package org.moe4j.bench.run;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.moe4j.bench.routing.Cell;
import org.moe4j.bench.routing.Column;
import org.moe4j.bench.routing.Part;
import org.moe4j.bench.routing.Sheet;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.router.analysis.token.GradientReach;

/** Who gets a gradient from one token. */
final class GradientPart {
    private GradientPart() {}

    /**
     * Of the token alone.
     *
     * @param dOutput gradient of the layer's output (T×D), if the input has one
     */
    static Part of(MoeLayer layer, Matrix tokens, int token, Optional<Matrix> dOutput) {
        List<List<Cell>> rows =
                dOutput.map(d -> List.of(row(layer, tokens, token, d))).orElse(List.of());
        return new Part(
                "gradients",
                "Who gets a gradient",
                "Of the token alone, for a loss with the gradient d_output. The formula is that of softmax routers without"
                        + " renormalization.",
                List.of(new Sheet(
                        "gradients",
                        "Gradients of the token alone"
                                + (rows.isEmpty() ? " (the input has no d_output of the layer)" : ""),
                        0,
                        List.of(
                                Column.plain("router_rows", "router rows"),
                                Column.plain("experts", "experts"),
                                Column.plain("which", "which"),
                                new Column("largest", "largest entry of the router's", Column.Form.SIX_DIGITS),
                                new Column("formula_difference", "from the formula", Column.Form.SIX_DIGITS)),
                        rows)),
                List.of());
    }

    private static List<Cell> row(MoeLayer layer, Matrix tokens, int token, Matrix dOutput) {
        Backend backend = tokens.backend();
        try (Matrix one = backend.gatherRows(tokens, new int[] {token});
                Matrix gradient = backend.gatherRows(dOutput, new int[] {token})) {
            GradientReach reach = GradientReach.of(layer, one, gradient);
            return List.of(
                    Cell.of((long) reach.routerRows()),
                    Cell.of((long) reach.experts().size()),
                    Cell.of(reach.experts().stream().map(String::valueOf).collect(Collectors.joining(" "))),
                    Cell.of(reach.largest()),
                    reach.formulaDifference().isPresent()
                            ? Cell.of(reach.formulaDifference().getAsDouble())
                            : Cell.nothing());
        }
    }
}
