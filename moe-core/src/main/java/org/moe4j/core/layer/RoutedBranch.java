package org.moe4j.core.layer;

import java.util.Optional;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Admission;
import org.moe4j.core.dispatch.DispatchPlan;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Parameters;

/** The way of the routed tokens: into the latent space, weighted or not, through the experts, combined, and out again. */
record RoutedBranch(Experts experts, Optional<LatentProjections> latent, WeightPlace place) {
    RoutedBranch {
        latent.ifPresent(projections -> {
            Require.count(
                    "latent",
                    projections.latentSize(),
                    experts.shape().hiddenSize(),
                    "as latent size (hidden size of the experts)");
            projections.requireBackend(experts.backend());
        });
    }

    /** Width of the layer's tokens: D. */
    int hiddenSize() {
        return latent.map(LatentProjections::hiddenSize).orElse(experts.shape().hiddenSize());
    }

    /** What the tokens are weighted with before their experts, of which each has one at most. */
    static double[] weights(Admission admission, int from, int to) {
        if (admission.routing().topK() > 1) { // the most of any token: a router that said otherwise
            throw Require.expected(
                    "routing",
                    "at most 1 expert per token with weights on the input",
                    admission.routing().topK());
        }
        double[] weights = new double[to - from];
        for (int t = from; t < to; t++) {
            weights[t - from] = admission.routing().count(t) == 0 ? 0 : admission.weight(t, 0);
        }
        return weights;
    }

    RoutedPass forward(Matrix tokens, DispatchPlan plan) {
        try (Unfinished made = new Unfinished()) {
            Optional<LatentProjections> kept = latent.map(projections -> made.add(projections.share()));
            Matrix projected = made.add(kept.map(p -> p.into(tokens)).orElseGet(tokens::share));
            ExpertsPass expert;
            try (Matrix inputs = weighted(projected, plan, 0)) {
                expert = made.add(experts.forward(inputs, plan.rows(), plan.groups()));
            }
            Matrix sum = made.add(combine(plan, expert.output()));
            Matrix routed = kept.map(p -> p.outOf(sum)).orElseGet(sum::share);
            Matrix output = made.add(plan.addPassed(routed, tokens));
            RoutedPass pass = new RoutedPass(plan, place, kept, projected, expert, sum, output);
            made.keep();
            return pass;
        }
    }

    /** Whether the routed output is nothing but the weighted sum of what the experts make of the tokens. */
    boolean isSum(DispatchPlan plan) {
        return latent.isEmpty() && place == WeightPlace.OUTPUT && !plan.passes();
    }

    /** The output of the tokens of a plan of some of them, keeping nothing. */
    Matrix apply(Matrix tokens, int from, int to, DispatchPlan plan) {
        if (latent.isEmpty() && place == WeightPlace.OUTPUT) {
            try (Matrix rows = experts.apply(tokens, plan.rows(), plan.groups())) {
                return plan.addPassed(plan.combine(rows), tokens);
            }
        }
        int[] rows = plan.rows();
        for (int i = 0; i < rows.length; i++) {
            rows[i] -= from;
        }
        try (Matrix part = TokenRows.of(tokens, from, to);
                Matrix projected = latent.map(p -> p.into(part)).orElseGet(part::share);
                Matrix inputs = weighted(projected, plan, from);
                Matrix outputs = experts.apply(inputs, rows, plan.groups());
                Matrix sum = combine(plan, outputs)) {
            return plan.addPassed(latent.map(p -> p.outOf(sum)).orElseGet(sum::share), tokens);
        }
    }

    private Matrix weighted(Matrix tokens, DispatchPlan plan, int from) {
        return place == WeightPlace.INPUT
                ? tokens.backend().scaleRows(tokens, weights(plan.admission(), from, from + tokens.rows()))
                : tokens.share();
    }

    /** A row that was weighted before its expert is added as it is: what undoes the dispatch adds the rows of a token. */
    private Matrix combine(DispatchPlan plan, Matrix rows) {
        return place == WeightPlace.INPUT ? plan.dispatchBackward(rows) : plan.combine(rows);
    }

    Parameters parameters() {
        Parameters own = experts.parameters().prefixed("experts");
        return latent.map(p -> own.and(p.parameters().prefixed("latent"))).orElse(own);
    }

    RoutedBranch withParameters(Parameters ofLayer) {
        try (Unfinished made = new Unfinished()) {
            Experts own = made.add(experts.withParameters(ofLayer.under("experts")));
            Optional<LatentProjections> ownLatent = latent.map(p -> p.withParameters(ofLayer.under("latent")));
            made.keep();
            return new RoutedBranch(own, ownLatent, place);
        }
    }

    void close() {
        experts.close();
        latent.ifPresent(LatentProjections::close);
    }
}
