package org.moe4j.merge;

import java.util.List;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.internal.Require;
import org.moe4j.core.layer.Router;

/** What the factors of a {@link ScaledMerge} were made for: it refuses every other layer. */
public sealed interface Presumption {
    /**
     * Refuses a layer that the factors were not made for, naming both settings.
     *
     * @param convention the rule that presumes this
     * @param router its weights are what the rule multiplies
     * @param routed the routed experts
     * @param shared the shared experts
     * @throws IllegalArgumentException when they do not fit
     */
    void requireLayer(ScaledMerge convention, Router router, Experts routed, List<Experts> shared);

    /**
     * Refuses widths that the factors were not made for.
     *
     * @param convention the rule that presumes this
     * @param widths K, d_r, d_s
     * @throws IllegalArgumentException when they do not fit
     */
    void requireWidths(ScaledMerge convention, ActiveWidths widths);

    /** Any layer will do. */
    record Nothing() implements Presumption {
        @Override
        public void requireLayer(ScaledMerge convention, Router router, Experts routed, List<Experts> shared) {}

        @Override
        public void requireWidths(ScaledMerge convention, ActiveWidths widths) {}
    }

    /**
     * Router weights that add up to 1 without a scale of their own, and certain widths.
     *
     * @param widths K, d_r, d_s
     */
    record UnitSum(ActiveWidths widths) implements Presumption {
        @Override
        public void requireLayer(ScaledMerge convention, Router router, Experts routed, List<Experts> shared) {
            if (!router.unitSum()) {
                throw Require.expected(
                        "router",
                        "weights that sum to 1 (merge.convention = " + convention.name() + ")",
                        "one whose weights may sum to something else",
                        "set router.renormalization = sum without epsilon, or choose merge.convention = sum");
            }
            requireUnitScale(convention, router);
            ActiveWidths actual = ActiveWidths.of(router, routed, shared);
            if (!actual.equals(widths)) {
                throw Require.expected(
                        "widths",
                        widths + " (merge.convention = " + convention.name() + ")",
                        actual,
                        "make the convention from ActiveWidths.of(router, routed, shared)");
            }
        }

        @Override
        public void requireWidths(ScaledMerge convention, ActiveWidths actual) {
            if (!actual.equals(widths)) {
                throw Require.expected("widths", widths + " (merge.convention = " + convention.name() + ")", actual);
            }
        }
    }

    /**
     * K routed experts beside exactly one shared expert, and a router without a scale of its own, of any renormalisation.
     *
     * @param topK K, at least 1
     */
    record OneBeside(int topK) implements Presumption {
        /**
         * Checks K.
         *
         * @param topK K, at least 1
         * @throws IllegalArgumentException for {@code topK} below 1
         */
        public OneBeside {
            Require.atLeast("topK", topK, 1);
        }

        @Override
        public void requireLayer(ScaledMerge convention, Router router, Experts routed, List<Experts> shared) {
            if (router.topK() != topK) {
                throw Require.expected(
                        "router",
                        "router.topK = " + topK + " (that of merge.convention = " + convention.name() + ")",
                        router.topK(),
                        "make the convention for the router's topK");
            }
            requireUnitScale(convention, router);
            Require.count(
                    "shared",
                    shared.size(),
                    1,
                    "shared expert (merge.convention = " + convention.name() + " with router.topK = " + topK + ")");
        }

        @Override
        public void requireWidths(ScaledMerge convention, ActiveWidths widths) {
            if (widths.topK() != topK || widths.sharedWidth() == 0) {
                throw Require.expected(
                        "widths",
                        "topK = " + topK + " and a shared expert (merge.convention = " + convention.name() + ")",
                        widths);
            }
        }
    }

    private static void requireUnitScale(ScaledMerge convention, Router router) {
        if (router.scale() != 1) {
            throw Require.expected(
                    "router",
                    "router.scale = 1 (merge.convention = " + convention.name() + " sets the routed factor "
                            + convention.routedScale() + ")",
                    router.scale(),
                    "set router.scale = 1, or choose merge.convention = sum");
        }
    }
}
