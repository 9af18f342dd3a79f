package org.moe4j.bench.study.budget;

import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Parameters;

/**
 * What a layer stores, and what it computes for a token in its products forward, a multiply-add counted as two operations: with an
 * expert of {@code n = 3·D·F} weights, {@code 2·n} for each of its tokens.
 *
 * @param stored numbers in all parameters
 * @param active floating-point operations of a token, on average
 */
public record Budget(Paths stored, Paths active) {
    /**
     * A number for each path of a token.
     *
     * @param router logits of all experts
     * @param routed experts the token is sent to
     * @param shared expert of all tokens
     */
    public record Paths(double router, double routed, double shared) {
        /**
         * Without the router.
         *
         * @return of the experts
         */
        public double experts() {
            return routed + shared;
        }

        /**
         * Of all paths.
         *
         * @return the sum
         */
        public double total() {
            return router + routed + shared;
        }
    }

    /** As planned, from sizes alone. */
    static Budget planned(BudgetVariant variant) {
        int d = BudgetLayers.HIDDEN;
        ExpertShape routed = new ExpertShape(variant.experts(), d, variant.width());
        ExpertShape shared = new ExpertShape(1, d, BudgetLayers.WIDTH);
        long router = (long) variant.experts() * d;
        return new Budget(
                new Paths(router, routed.parameters(), variant.shares() ? shared.parameters() : 0),
                new Paths(
                        2.0 * router,
                        routed.flopsPerToken(variant.topK()),
                        variant.shares() ? shared.flopsPerToken(1) : 0));
    }

    /** As found: numbers in the matrices of a layer, and each of them used as often as there are rows. */
    static Budget counted(MoeLayer layer, Rows rows) {
        try (Parameters parameters = layer.parameters()) {
            Paths stored = new Paths(
                    numbers(parameters, "router."), numbers(parameters, "experts."), numbers(parameters, "shared."));
            double active = 0;
            for (int e = 0; e < rows.perExpert().size(); e++) {
                active += 2
                        * numbers(parameters, "experts." + e + ".")
                        * rows.perExpert().get(e);
            }
            double perToken = 2.0 / rows.tokens();
            return new Budget(
                    stored,
                    new Paths(2 * stored.router(), active / rows.tokens(), perToken * stored.shared() * rows.shared()));
        }
    }

    private static double numbers(Parameters parameters, String prefix) {
        return parameters.names().stream()
                .filter(name -> name.startsWith(prefix))
                .map(parameters::get)
                .mapToLong(matrix -> (long) matrix.rows() * matrix.columns())
                .sum();
    }
}
