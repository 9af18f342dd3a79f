package org.moe4j.core.layer;

import java.util.Optional;
import java.util.OptionalLong;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.internal.Require;
import org.moe4j.core.internal.Unfinished;
import org.moe4j.core.parameter.Parameters;

/** What a layer is made of, and that it fits together. */
record LayerParts(
        Router router,
        RoutedBranch routed,
        Optional<SharedBranch> shared,
        Capacity capacity,
        Optional<TokenJitter> jitter) {
    LayerParts {
        capacity.requireScale(router.scale());
        Require.count("router", router.experts(), routed.experts().shape().count(), "experts (experts of the bank)");
        int width = routed.hiddenSize();
        String whose = routed.latent().isPresent()
                ? "as hidden size (of the latent projections)"
                : "as hidden size (of the experts)";
        router.tokenWidth().ifPresent(own -> Require.count("router", own, width, whose));
        if (routed.place() == WeightPlace.INPUT && !(router.topK() == 1 && router.fixedCount())) {
            String count = router.fixedCount() ? "router.topK = " + router.topK() : "a number of experts that varies";
            throw Require.expected(
                    "experts.weightPlace",
                    "output (" + count + ")",
                    "input",
                    "a weight on the input takes one expert per token");
        }
        shared.ifPresent(branch -> requireFits(branch, router, routed));
    }

    private static void requireFits(SharedBranch branch, Router router, RoutedBranch routed) {
        for (int i = 0; i < branch.experts().size(); i++) {
            ExpertShape shape = branch.experts().get(i).shape();
            Require.count(
                    "shared[" + i + "]",
                    shape.hiddenSize(),
                    routed.hiddenSize(),
                    "as hidden size (" + (routed.latent().isPresent() ? "of the layer)" : "of the routed experts)"));
            KernelChecks.sameBackend(
                    "shared[" + i + "]",
                    branch.experts().get(i).backend(),
                    routed.experts().backend());
        }
        branch.merge().requireFits(router, routed.experts(), branch.experts());
        branch.merge().requirePlace(routed.place());
    }

    LayerParts withRouter(Router other) {
        return new LayerParts(other, routed, shared, capacity, jitter);
    }

    LayerParts withRouted(RoutedBranch other) {
        return new LayerParts(router, other, shared, capacity, jitter);
    }

    LayerParts withShared(SharedBranch branch) {
        return new LayerParts(router, routed, Optional.of(branch), capacity, jitter);
    }

    LayerParts withCapacity(Capacity limit) {
        return new LayerParts(router, routed, shared, limit, jitter);
    }

    LayerParts withJitter(TokenJitter tokens) {
        return new LayerParts(router, routed, shared, capacity, Optional.of(tokens));
    }

    Backend backend() {
        return routed.experts().backend();
    }

    /** What a token jitter multiplies the tokens with; empty without one or without a seed. */
    Optional<Matrix> jitterFactors(Matrix tokens, RoutingContext context) {
        OptionalLong seed = context.noiseSeed(TokenJitter.USE);
        return jitter.filter(rule -> seed.isPresent())
                .map(rule -> rule.factors(backend(), tokens.rows(), tokens.columns(), seed.getAsLong()));
    }

    void requireTokens(Matrix tokens, RoutingContext context) {
        Require.count(
                "tokens",
                tokens.columns(),
                routed.hiddenSize(),
                routed.latent().isPresent()
                        ? "columns (hidden size of the latent projections)"
                        : "columns (hidden size of the experts)");
        KernelChecks.owner("tokens", tokens, backend());
        OptionalLong bad = backend().firstNonFinite(tokens);
        if (bad.isPresent()) {
            int row = (int) (bad.getAsLong() / tokens.columns());
            int column = (int) (bad.getAsLong() % tokens.columns());
            throw new IllegalArgumentException("tokens: expected finite values but token " + row + ", column " + column
                    + " is " + tokens.get(row, column));
        }
        context.requireTokens(tokens.rows());
    }

    Parameters parameters() {
        Parameters own = router.parameters().prefixed("router").and(routed.parameters());
        return shared.map(branch -> own.and(branch.parameters())).orElse(own);
    }

    LayerParts withParameters(Parameters parameters) {
        try (Unfinished made = new Unfinished()) {
            Router ownRouter = made.add(router.withParameters(parameters.under("router")));
            RoutedBranch ownRouted = routed.withParameters(parameters);
            made.<AutoCloseable>add(ownRouted::close);
            Optional<SharedBranch> ownShared = shared.map(branch -> branch.withParameters(parameters));
            made.keep();
            return new LayerParts(ownRouter, ownRouted, ownShared, capacity, jitter);
        }
    }

    @Override
    public String toString() {
        ExpertShape shape = routed.experts().shape();
        StringBuilder text = new StringBuilder("[D " + routed.hiddenSize() + ", top " + router.topK() + " of "
                + shape.count() + " experts, F " + shape.intermediateSize() + ", " + shape.activation());
        routed.latent().ifPresent(latent -> text.append(", latent ").append(latent.latentSize()));
        shared.ifPresent(branch -> {
            text.append(", shared");
            branch.experts()
                    .forEach(bank -> text.append(' ').append(bank.shape().intermediateSize()));
            text.append(", merge ").append(branch.merge());
        });
        text.append(", ").append(capacity).append(", weights on ").append(routed.place());
        jitter.ifPresent(tokens -> text.append(", ").append(tokens));
        return text.append(", ").append(backend().name()).append(']').toString();
    }

    void close() {
        router.close();
        routed.close();
        shared.ifPresent(SharedBranch::close);
    }
}
