package org.moe4j.merge.rewrite;

import java.util.List;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.dispatch.Capacity.Limited;
import org.moe4j.core.dispatch.UnservedTokens;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.OutputMerge;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.merge.ScaledMerge;

/** The factors from one convention to another, after all that could refuse them. */
record ConventionChange(Rescaling routed, Rescaling shared) {
    /** The change that a layer needs; with the layer's own router or the same at another scale. */
    static ConventionChange of(MoeLayer layer, Router other, ScaledMerge to) {
        ScaledMerge from = convention(layer);
        List<Experts> experts = layer.shared().map(SharedBranch::experts).orElse(List.of());
        double ratio = SameRouter.scaleRatio(layer, other);
        to.requireFits(other, layer.experts(), experts);
        to.requirePlace(layer.weightPlace());
        layer.capacity().requireScale(other.scale());
        requirePlace(layer, other, ratio);
        double before = ratio == 1
                ? from.routedScale()
                : from.routedScale() * layer.router().scale();
        double after = ratio == 1 ? to.routedScale() : to.routedScale() * other.scale();
        Rescaling routed = between("routed", before, after, 1);
        requirePassed(layer, from.routedScale(), to.routedScale(), routed);
        return of(layer, routed, from, to);
    }

    /** The change with a given one of the routed branch; a changed branch needs experts that a factor can go into. */
    static ConventionChange of(MoeLayer layer, Rescaling routed, ScaledMerge from, ScaledMerge to) {
        List<Experts> experts = layer.shared().map(SharedBranch::experts).orElse(List.of());
        Rescaling shared =
                experts.isEmpty() ? Rescaling.none() : between("shared", from.sharedScale(), to.sharedScale(), 1);
        requireKnown("experts", layer.experts(), routed.factor() != 1);
        for (int i = 0; i < experts.size(); i++) {
            requireKnown("shared[" + i + "]", experts.get(i), shared.factor() != 1);
        }
        requireHeld("routed", routed, layer.experts().backend());
        requireHeld("shared", shared, layer.experts().backend());
        return new ConventionChange(routed, shared);
    }

    /** What becomes of a parameter of the layer, by its name. */
    Rescaling of(String name) {
        if (!name.endsWith(".down") && !name.endsWith(".downBias")) {
            return Rescaling.none();
        }
        return name.startsWith("experts.") ? routed : name.startsWith("shared.") ? shared : Rescaling.none();
    }

    private static ScaledMerge convention(MoeLayer layer) {
        OutputMerge merge = layer.shared().map(SharedBranch::merge).orElse(ScaledMerge.sum());
        if (merge instanceof ScaledMerge scaled) {
            return scaled;
        }
        throw Require.expected(
                "layer",
                "a merge of fixed factors (ScaledMerge)",
                merge.getClass().getSimpleName(),
                "factors that depend on the tokens are no part of a down projection");
    }

    /** {@code c = before/(after·weight)}, in an order that gives 1 where after is before over the weight, rounded or not. */
    static Rescaling between(String branch, double before, double after, double weight) {
        if (before == 0 && after == 0) {
            return Rescaling.none();
        }
        if (after == 0 || before == 0) {
            throw Require.expected(
                    "to",
                    before == 0 ? "a " + branch + " factor of 0 (as the layer has)" : "a " + branch + " factor but 0",
                    after,
                    "no down projection with an inverse makes up for 0");
        }
        double factor = before / after / weight;
        if (!Rescaling.isUsable(factor)) {
            throw Require.expected(
                    "to",
                    "a " + branch + " factor whose quotient with that of the layer, " + before
                            + ", has a finite square and reciprocal",
                    after);
        }
        return new Rescaling(factor);
    }

    /** A narrow type has a narrow range: what overflows is seen, what becomes 0 is not. */
    private static void requireHeld(String branch, Rescaling change, Backend backend) {
        boolean narrow = backend.unitRoundoff() > 0x1p-53;
        double square = change.factor() * change.factor();
        if (narrow && !(square >= Float.MIN_NORMAL && 1 / square >= Float.MIN_NORMAL)) {
            throw Require.expected(
                    "to",
                    "a " + branch
                            + " factor whose quotient with that of the layer has a square and a reciprocal in the range of "
                            + backend.name(),
                    "a quotient of " + change.factor());
        }
    }

    private static void requirePlace(MoeLayer layer, Router other, double ratio) {
        if (layer.weightPlace() == WeightPlace.INPUT && ratio != 1) {
            throw Require.expected(
                    "other.scale",
                    layer.router().scale() + " (the layer's, with experts.weightPlace = input)",
                    other.scale(),
                    "a weight on the input stands inside the activation");
        }
    }

    /** What passes through is multiplied by α, or by α and the sum of the weights. */
    private static void requirePassed(MoeLayer layer, double before, double after, Rescaling routed) {
        if (!(layer.capacity() instanceof Limited limited) || limited.unserved() == UnservedTokens.ZERO) {
            return;
        }
        boolean weighted = limited.unserved() == UnservedTokens.PASSED_WEIGHTED;
        if (weighted ? routed.factor() != 1 : before != after) {
            throw Require.expected(
                    "to",
                    weighted
                            ? "the same product of routed factor and router.scale (unserved tokens are PASSED_WEIGHTED)"
                            : "a routed factor of " + before + " (unserved tokens are PASSED)",
                    after,
                    "it multiplies tokens that pass through, which no down projection reaches");
        }
    }

    /** Refuses changed experts of a class that this library does not know. */
    static void requireKnown(String name, Experts experts, boolean changed) {
        if (changed && !(experts instanceof FeedForwardExperts) && !(experts instanceof SwiGluExperts)) {
            throw Require.expected(
                    name,
                    "FeedForwardExperts or SwiGluExperts, whose outputs are sums over their intermediate units",
                    experts.getClass().getSimpleName());
        }
    }
}
