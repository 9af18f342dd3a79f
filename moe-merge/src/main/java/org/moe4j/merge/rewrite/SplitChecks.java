package org.moe4j.merge.rewrite;

import java.util.Arrays;
import java.util.Optional;
import org.moe4j.core.backend.KernelChecks;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.Routing;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.RoutingContext;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.ScaledMerge;

/** What has to hold for routed experts to be split, and the factors of the result. */
final class SplitChecks {
    /**
     * Units of roundoff by which a weight may miss q times another: rounded logits of parts that should be equal, and the sums of the
     * scores. It is there to tell one q from another.
     */
    private static final double ROUNDING = 1e4;

    private SplitChecks() {}

    /** The merge of the result, with K·m as topK; empty for a layer without a shared branch. */
    static Optional<OutputMerge> merge(MoeLayer layer, int parts, int topK) {
        if (layer.shared().isEmpty()) {
            return Optional.empty();
        }
        SharedBranch branch = layer.shared().get();
        if (branch.merge() instanceof GatedMerge) { // knows nothing of routed experts
            return Optional.of(branch.merge());
        }
        if (branch.merge() instanceof ScaledMerge scaled) {
            ActiveWidths widths = ActiveWidths.of(layer.router(), layer.experts(), branch.experts());
            return Optional.of(
                    scaled.forWidths(new ActiveWidths(topK, widths.routedWidth() / parts, widths.sharedWidth())));
        }
        throw Require.expected(
                "layer",
                "a merge that is known to depend on K and widths, or not to (MergeConvention)",
                branch.merge().getClass().getSimpleName());
    }

    /** The factors that make up for the weights of parts and for another convention. */
    static ConventionChange change(MoeLayer layer, Optional<OutputMerge> to, double weightOfPart) {
        ScaledMerge before = scaled(layer.shared().map(SharedBranch::merge));
        ScaledMerge after = scaled(to);
        Rescaling routed = ConventionChange.between("routed", before.routedScale(), after.routedScale(), weightOfPart);
        return ConventionChange.of(layer, routed, before, after);
    }

    /** A learned gate leaves the routed branch as it is, like the plain sum, and its shared factors do not change. */
    private static ScaledMerge scaled(Optional<OutputMerge> merge) {
        return merge.orElse(ScaledMerge.sum()) instanceof ScaledMerge scaled ? scaled : ScaledMerge.sum();
    }

    /** Refuses a layer whose parts would not be together, and a router that is not one of its parts. */
    static void require(MoeLayer layer, int parts, Router inherited, double weightOfPart) {
        if (!(weightOfPart > 0) || Double.isInfinite(weightOfPart)) {
            throw Require.expected("weightOfPart", "a finite number above 0", weightOfPart);
        }
        if (!(layer.capacity() instanceof Capacity.Dropless)) {
            throw Require.expected(
                    "layer.capacity",
                    "none (its rows are those of an expert, and a token could keep some parts of one)",
                    layer.capacity());
        }
        if (layer.weightPlace() == WeightPlace.INPUT) {
            throw Require.expected(
                    "layer.weightPlace",
                    "OUTPUT, where the parts of an expert share its weight",
                    layer.weightPlace(),
                    "a weight on the input stands inside the activation");
        }
        ConventionChange.requireKnown("experts", layer.experts(), true);
        Router router = layer.router();
        Require.count(
                "inherited",
                inherited.experts(),
                (long) router.experts() * parts,
                "experts (those of the layer times parts)");
        Require.count(
                "inherited", inherited.topK(), (long) router.topK() * parts, "as topK (that of the layer times parts)");
        requireTokens(layer, inherited);
        requireRouting(layer, parts, inherited, weightOfPart);
    }

    /** Refuses a router that cannot read the tokens of the layer. */
    private static void requireTokens(MoeLayer layer, Router inherited) {
        int width = SameRouter.tokenWidth(layer);
        if (inherited.tokenWidth().orElse(width) != width) {
            throw Require.expected(
                    "inherited.tokenWidth",
                    width + " (hidden size of the layer)",
                    inherited.tokenWidth().orElseThrow());
        }
        try (Parameters ofRouter = inherited.parameters()) {
            for (String name : ofRouter.names()) {
                KernelChecks.owner(
                        "inherited." + name, ofRouter.get(name), layer.experts().backend());
            }
        }
    }

    private static void requireRouting(MoeLayer layer, int parts, Router inherited, double weightOfPart) {
        RoutingContext plain = RoutingContext.plain();
        try (Matrix tokens = SameRouter.tokens(layer)) {
            Routing before = layer.router().routing(tokens, plain);
            Routing after = inherited.routing(tokens, plain);
            double allowed = ROUNDING * layer.experts().backend().unitRoundoff();
            for (int t = 0; t < before.tokens(); t++) {
                if (!areParts(before, after, t, parts, weightOfPart, allowed)) {
                    throw Require.expected(
                            "inherited",
                            "all parts of a token's experts, with " + weightOfPart + " times their weights",
                            "another routing for drawn token " + t,
                            "make it with InheritedRows; on some backends equal rows need router.precision = double to tie");
                }
            }
        }
    }

    /** In whatever order, as the products of equal rows may differ by a rounding. */
    private static boolean areParts(
            Routing before, Routing after, int token, int parts, double weightOfPart, double allowed) {
        if (after.count(token) != before.count(token) * parts) {
            return false;
        }
        double[] weights = new double[before.experts()];
        Arrays.fill(weights, Double.NaN); // where the token does not go
        for (int rank = 0; rank < before.count(token); rank++) {
            weights[before.expert(token, rank)] = weightOfPart * before.weight(token, rank);
        }
        for (int rank = 0; rank < after.count(token); rank++) {
            double weight = weights[after.expert(token, rank) / parts];
            if (!(Math.abs(after.weight(token, rank) - weight) <= allowed * Math.abs(weight))) {
                return false;
            }
        }
        return true;
    }
}
