package org.moe4j.bench.study.budget;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.moe4j.bench.study.Norms;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.MergeScale;
import org.moe4j.merge.ScaledMerge;

/**
 * RMS of the output before training over that of the matched dense block, which is the same experts with coefficients of 1.
 *
 * <p>Tokens have an RMS of 1 each, as after a normalisation: the size of an expert's output on a token then depends neither on the
 * token nor on its weights, so that {@code E[N] = R_var·E[D]} for the squared norms N of the output and D of the dense block, with
 * R_var of the measured {@code Σp²} ({@link MergeScale}). What is left is chance. Over n starts {@code e_i = N_i − R_var·D_i} has
 * mean 0, and {@code ΣN/ΣD − R_var = Σe/ΣD} the standard error {@code √n·sd(e)/ΣD}; that of its root is {@code 1/(2·√R_var)} times
 * as much.
 *
 * @param variant of the budget
 * @param seed of the starts
 * @param predicted √R_var
 * @param measured √(ΣN/ΣD)
 * @param standardError of the measured number
 */
public record StartScale(BudgetVariant variant, int seed, double predicted, double measured, double standardError) {
    /** Measured and predicted may differ by so many standard errors. */
    public static final double ERRORS = 4;

    private static final int TOKENS = 256;

    /**
     * Whether the prediction holds.
     *
     * @return within {@link #ERRORS} standard errors
     */
    public boolean holds() {
        return Math.abs(measured - predicted) <= ERRORS * standardError;
    }

    static StartScale measure(BudgetVariant variant, Backend backend, int seed, int starts) {
        SplittableRandom seeds = new SplittableRandom(31L * seed);
        double[] outputs = new double[starts];
        double[] dense = new double[starts];
        double sumPSquared = 0;
        for (int i = 0; i < starts; i++) {
            try (MoeLayer layer = BudgetLayers.student(variant, backend, seeds.nextLong());
                    Matrix tokens = tokens(backend, seeds.nextLong());
                    Matrix output = layer.apply(tokens)) {
                Routing routing = layer.router().routing(tokens, RoutingContext.plain());
                outputs[i] = Norms.squares(output);
                dense[i] = dense(layer, tokens, routing);
                sumPSquared += sumPSquared(routing) / starts;
            }
        }
        ActiveWidths widths = variant.widths(1);
        return of(variant, seed, MergeScale.of(ScaledMerge.olmo(widths), widths, sumPSquared), outputs, dense);
    }

    /** Of the squared norms of several starts. */
    static StartScale of(BudgetVariant variant, int seed, MergeScale scale, double[] outputs, double[] dense) {
        double squares = 0;
        for (int i = 0; i < outputs.length; i++) {
            double e = outputs[i] - scale.varianceRatio() * dense[i];
            squares += e * e;
        }
        double ofDense = Arrays.stream(dense).sum();
        double error = Math.sqrt(squares * outputs.length / (outputs.length - 1)) / ofDense;
        return new StartScale(
                variant,
                seed,
                scale.rmsRatio(),
                Math.sqrt(Arrays.stream(outputs).sum() / ofDense),
                error / (2 * scale.rmsRatio()));
    }

    private static Matrix tokens(Backend backend, long seed) {
        try (Matrix drawn = Initializer.normal(1).draw(backend, TOKENS, BudgetLayers.HIDDEN, seed)) {
            double[] factors = backend.rowDots(drawn, drawn);
            for (int t = 0; t < TOKENS; t++) {
                factors[t] = Math.sqrt(BudgetLayers.HIDDEN / factors[t]);
            }
            return backend.scaleRows(drawn, factors);
        }
    }

    /** Squared norm of the sum of the experts of each token. */
    static double dense(MoeLayer layer, Matrix tokens, Routing routing) {
        int[] chosen = new int[routing.slots()];
        double[] ones = new double[chosen.length];
        Arrays.fill(ones, 1);
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                chosen[routing.slot(t, rank)] = routing.expert(t, rank);
            }
        }
        DispatchPlan plan =
                DispatchPlan.of(Routing.of(routing.experts(), routing.topK(), chosen, ones), Capacity.dropless());
        List<Experts> shared = layer.shared().orElseThrow().experts();
        try (Matrix rows = layer.experts().apply(tokens, plan.rows(), plan.groups());
                Matrix sum = plan.combine(rows)) {
            if (shared.isEmpty()) {
                return Norms.squares(sum);
            }
            int[] all = new int[tokens.rows()];
            Arrays.setAll(all, t -> t);
            try (Matrix ofShared = shared.get(0).apply(tokens, all, RowGroups.single(all.length));
                    Matrix both = tokens.backend().add(sum, ofShared)) {
                return Norms.squares(both);
            }
        }
    }

    private static double sumPSquared(Routing routing) {
        double sum = 0;
        for (int t = 0; t < routing.tokens(); t++) {
            for (int rank = 0; rank < routing.count(t); rank++) {
                sum += routing.weight(t, rank) * routing.weight(t, rank);
            }
        }
        return sum / routing.tokens();
    }
}
