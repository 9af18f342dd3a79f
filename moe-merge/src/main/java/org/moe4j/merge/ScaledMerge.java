package org.moe4j.merge;

import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.MergePass;
import org.moe4j.core.layer.Router;
import org.moe4j.core.parameter.Parameters;

/**
 * Fixed factors: {@code Y = α·R + s·Σ_j S_j}, so that {@code r = α·p} in Equation 80 of the report on Olmo's MoE recipe.
 *
 * <p>The four conventions of the report's Table 37 presume router weights p that add up to 1 and take α from K and the
 * widths: they refuse every other router, and a layer of other widths. {@link #activeMean} presumes K and one shared
 * expert. {@link #sum()} and {@link #scaled} take any layer.
 *
 * @param name of the convention
 * @param routedScale α, finite
 * @param sharedScale s, finite
 * @param presumption what the factors were made for
 */
public record ScaledMerge(String name, double routedScale, double sharedScale, Presumption presumption)
        implements MergeConvention {
    private static final List<Function<ActiveWidths, ScaledMerge>> RULES = List.of(
            ScaledMerge::olmo,
            ScaledMerge::routedUnitSum,
            ScaledMerge::equalBranchMass,
            ScaledMerge::widthProportional,
            widths -> activeMean(widths.topK()));

    /**
     * Checks the factors.
     *
     * @param name of the convention
     * @param routedScale α, finite
     * @param sharedScale s, finite
     * @param presumption what the factors were made for
     * @throws IllegalArgumentException for an empty name, or a factor that is not finite
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
        return new ScaledMerge("olmo", widths.topK(), 1, new Presumption.UnitSum(widths));
    }

    /**
     * Routed unit sum: {@code r = p, s = 1} (Table 37 of the report).
     *
     * @param widths of the layer
     * @return the convention {@code routed-unit-sum}
     */
    public static ScaledMerge routedUnitSum(ActiveWidths widths) {
        return new ScaledMerge("routed-unit-sum", 1, 1, new Presumption.UnitSum(widths));
    }

    /**
     * Equal branch mass: {@code r = p/2, s = 1/2} (Table 37 of the report).
     *
     * @param widths of the layer
     * @return the convention {@code equal-branch-mass}
     */
    public static ScaledMerge equalBranchMass(ActiveWidths widths) {
        return new ScaledMerge("equal-branch-mass", 0.5, 0.5, new Presumption.UnitSum(widths));
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
                "width-proportional", routed / active, widths.sharedWidth() / active, new Presumption.UnitSum(widths));
    }

    /**
     * Active mean: {@code Y = (K·R + S)/(K+1)}, hence {@code r = K/(K+1)·w, s = 1/(K+1)}. With weights w that add up to 1
     * it is the mean over the K + 1 experts that run; it takes any weights, but one shared expert only.
     *
     * <p>Sources: the option {@code shared_expert_weighted_sum} of MegaBlocks, and the main branch of OLMo-core.
     *
     * @param topK K of the router, at least 1
     * @return the convention {@code active-mean}
     */
    public static ScaledMerge activeMean(int topK) {
        Presumption presumption = new Presumption.OneBeside(topK);
        return new ScaledMerge("active-mean", topK / (topK + 1.0), 1 / (topK + 1.0), presumption);
    }

    /**
     * The plain sum {@code Y = R + S} of DeepSeek and of Megatron-Core's default; a model's routed scale is the router's.
     *
     * @return the convention {@code sum}
     */
    public static ScaledMerge sum() {
        return new ScaledMerge("sum", 1, 1, new Presumption.Nothing());
    }

    /**
     * Any other fixed pair.
     *
     * @param routed α, finite
     * @param shared s, finite
     * @return the convention {@code scaled(r, s)}
     */
    public static ScaledMerge scaled(double routed, double shared) {
        return new ScaledMerge("scaled(" + routed + ", " + shared + ")", routed, shared, new Presumption.Nothing());
    }

    /**
     * The same rule for other widths, which change its factors where they follow from K or the widths.
     *
     * @param widths of the other layer
     * @return the convention of this name, made for these widths; this one where it takes any layer
     * @throws IllegalArgumentException for factors that no rule of this class makes of what they presume
     */
    public ScaledMerge forWidths(ActiveWidths widths) {
        if (presumption instanceof Presumption.Nothing) {
            return this;
        }
        ActiveWidths own = presumption instanceof Presumption.UnitSum unit
                ? unit.widths()
                : new ActiveWidths(((Presumption.OneBeside) presumption).topK(), 1, 1);
        return RULES.stream()
                .filter(rule -> rule.apply(own).equals(this))
                .findFirst()
                .map(rule -> rule.apply(widths))
                .orElseThrow(() -> Require.expected("convention", "one of this class, made anew for " + widths, this));
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
     * was made for; the active mean a router of scale 1 and of its K, and one shared expert.
     */
    @Override
    public void requireFits(Router router, Experts routed, List<Experts> shared) {
        presumption.requireLayer(this, router, routed, shared);
    }

    /**
     * {@inheritDoc}
     *
     * <p>A convention of Table 37 weighs what experts return, by weights that add up to 1: it refuses weights on the input.
     */
    @Override
    public void requirePlace(WeightPlace place) {
        if (place == WeightPlace.INPUT && presumption instanceof Presumption.UnitSum) {
            throw Require.expected(
                    "merge",
                    "a convention for weights on the input (experts.weightPlace = input)",
                    "merge.convention = " + name,
                    "choose merge.convention = sum, or experts.weightPlace = output");
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
