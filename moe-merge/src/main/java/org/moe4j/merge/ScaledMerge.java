package org.moe4j.merge;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.Router;
import org.moe4j.core.parameter.Parameters;

/**
 * Fixed factors: {@code Y = α·R + s·Σ_j S_j}, so that {@code r = α·p} in Equation 80 of the report on Olmo's MoE recipe.
 *
 * <p>The four conventions of the report's Table 37 presume router weights p that add up to 1 and take α from K and the
 * widths: they refuse every other router, and a layer of other widths. {@link #sum()} and {@link #scaled} take any.
 *
 * @param name of the convention
 * @param routedScale α, finite
 * @param sharedScale s, finite
 * @param widths what the factors were made for; empty when they depend on nothing
 */
public record ScaledMerge(String name, double routedScale, double sharedScale, Optional<ActiveWidths> widths)
        implements MergeConvention {
    /**
     * Checks the factors.
     *
     * @param name of the convention
     * @param routedScale α, finite
     * @param sharedScale s, finite
     * @param widths what the factors were made for; empty when they depend on nothing
     */
    public ScaledMerge {
        if (name.isBlank()) {
            throw Require.expected("name", "a name", "\"" + name + "\"");
        }
        Require.finite("routedScale", routedScale);
        Require.finite("sharedScale", sharedScale);
    }

    /**
     * Olmo: {@code r = K·p, s = 1}. Every selected expert has a coefficient of 1 on average, as the blocks of a
     * partitioned dense MLP have (Equation 83 and Table 37 of the report).
     *
     * @param widths of the layer
     * @return the convention {@code olmo}
     */
    public static ScaledMerge olmo(ActiveWidths widths) {
        return new ScaledMerge("olmo", widths.topK(), 1, Optional.of(widths));
    }

    /**
     * Routed unit sum: {@code r = p, s = 1} (Table 37 of the report).
     *
     * @param widths of the layer
     * @return the convention {@code routed-unit-sum}
     */
    public static ScaledMerge routedUnitSum(ActiveWidths widths) {
        return new ScaledMerge("routed-unit-sum", 1, 1, Optional.of(widths));
    }

    /**
     * Equal branch mass: {@code r = p/2, s = 1/2} (Table 37 of the report).
     *
     * @param widths of the layer
     * @return the convention {@code equal-branch-mass}
     */
    public static ScaledMerge equalBranchMass(ActiveWidths widths) {
        return new ScaledMerge("equal-branch-mass", 0.5, 0.5, Optional.of(widths));
    }

    /**
     * Width-proportional unit sum: {@code r = (K·d_r/d_act)·p, s = d_s/d_act} (Table 37 of the report).
     *
     * @param widths of the layer
     * @return the convention {@code width-proportional}
     */
    public static ScaledMerge widthProportional(ActiveWidths widths) {
        double active = widths.active();
        double routed = (double) widths.topK() * widths.routedWidth();
        return new ScaledMerge(
                "width-proportional", routed / active, widths.sharedWidth() / active, Optional.of(widths));
    }

    /**
     * The plain sum {@code Y = R + S} of DeepSeek and of Megatron-Core's default; a model's routed scale is the router's.
     *
     * @return the convention {@code sum}
     */
    public static ScaledMerge sum() {
        return new ScaledMerge("sum", 1, 1, Optional.empty());
    }

    /**
     * Any other fixed pair.
     *
     * @param routed α, finite
     * @param shared s, finite
     * @return the convention {@code scaled(r, s)}
     */
    public static ScaledMerge scaled(double routed, double shared) {
        return new ScaledMerge("scaled(" + routed + ", " + shared + ")", routed, shared, Optional.empty());
    }

    /**
     * {@inheritDoc}
     *
     * <p>A factor of 1 costs nothing. The pass reads none of the arguments again.
     */
    @Override
    public MergePass merge(Matrix tokens, Matrix routed, List<Matrix> shared) {
        Branches.require(tokens, routed, shared);
        return new ScaledPass(this, routed, shared);
    }

    /**
     * {@inheritDoc}
     *
     * <p>A convention of Table 37 demands a router of unit sum and of scale 1 (a factor has one home), and the widths it
     * was made for.
     */
    @Override
    public void requireFits(Router router, Experts routed, List<Experts> shared) {
        if (widths.isEmpty()) {
            return;
        }
        if (!router.unitSum()) {
            throw Require.expected(
                    "router",
                    "weights that sum to 1 (merge.convention = " + name + ")",
                    "a router that does not renormalise",
                    "set router.renormalization = sum, or choose merge.convention = sum");
        }
        if (router.scale() != 1) {
            throw Require.expected(
                    "router",
                    "router.scale = 1 (merge.convention = " + name + " sets the routed factor " + routedScale + ")",
                    router.scale(),
                    "set router.scale = 1, or choose merge.convention = sum");
        }
        ActiveWidths presumed = widths.get();
        ActiveWidths actual = ActiveWidths.of(router, routed, shared);
        if (!actual.equals(presumed)) {
            throw Require.expected(
                    "widths",
                    presumed + " (merge.convention = " + name + ")",
                    actual,
                    "make the convention from ActiveWidths.of(router, routed, shared)");
        }
    }

    /**
     * A fixed rule has no parameters.
     *
     * @return none
     */
    @Override
    public Parameters parameters() {
        return Parameters.none();
    }

    /**
     * The same rule, as there is nothing to change.
     *
     * @param parameters none
     * @return this convention
     */
    @Override
    public ScaledMerge withParameters(Parameters parameters) {
        parameters.requireNames(Set.of());
        return this;
    }
}
