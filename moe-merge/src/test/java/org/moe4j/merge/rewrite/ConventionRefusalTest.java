package org.moe4j.merge.rewrite;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.BACKEND;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.D;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.WIDTHS;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.layer;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.router;
import static org.moe4j.merge.rewrite.ConventionRewriteTest.shared;

import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.dispatch.Capacity;
import org.moe4j.core.dispatch.KeptWeights;
import org.moe4j.core.dispatch.UnservedTokens;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.ExpertsPass;
import org.moe4j.core.expert.FeedForwardExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.GatedMerge;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.SharedScore;

class ConventionRefusalTest {
    private final MoeLayer plain = layer(ScaledMerge.sum());

    @AfterEach
    void close() {
        plain.close();
    }

    private static void refused(MoeLayer layer, ScaledMerge to, String message) {
        refused(layer, layer.router(), to, message);
    }

    private static void refused(MoeLayer layer, Router other, ScaledMerge to, String message) {
        assertThatThrownBy(() -> ConventionRewrite.of(layer, other, to))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void aFactorOfZeroOnOneSide() {
        String hint = "; no down projection with an inverse makes up for 0";
        refused(plain, ScaledMerge.scaled(0, 1), "to: expected a routed factor but 0 but was 0.0" + hint);
        refused(plain, ScaledMerge.scaled(1, 0), "to: expected a shared factor but 0 but was 0.0" + hint);
        MoeLayer zero =
                plain.withShared(new SharedBranch(plain.shared().orElseThrow().experts(), ScaledMerge.scaled(0, 0)));
        refused(
                zero,
                ScaledMerge.scaled(2, 0),
                "to: expected a routed factor of 0 (as the layer has) but was 2.0" + hint);
    }

    @Test
    void aFactorWhoseQuotientIsNone() {
        refused(
                plain,
                ScaledMerge.scaled(1, 1e-200),
                "to: expected a shared factor whose quotient with that of the layer, 1.0, has a finite square and"
                        + " reciprocal but was 1.0E-200");
    }

    @Test
    void aConventionThatDoesNotFit() {
        refused(
                plain,
                ScaledMerge.olmo(new ActiveWidths(2, 6, 12)),
                "widths: expected ActiveWidths[topK=2, routedWidth=6, sharedWidth=12] (merge.convention = olmo) but was "
                        + WIDTHS + "; make the convention from ActiveWidths.of(router, routed, shared)");
        refused(
                plain,
                router(2, 2.5),
                ScaledMerge.olmo(WIDTHS),
                "router: expected router.scale = 1 (merge.convention = olmo sets the routed factor 2.0) but was 2.5; set"
                        + " router.scale = 1, or choose merge.convention = sum");
    }

    @Test
    void aConventionThatPresumesWeightsOnTheOutput() {
        Experts experts = FeedForwardExperts.random(new ExpertShape(4, D, 6), BACKEND, 2);
        try (MoeLayer layer = MoeLayer.of(router(1, 1), experts).withWeightPlace(WeightPlace.INPUT)) {
            refused(
                    layer,
                    ScaledMerge.olmo(new ActiveWidths(1, 6, 0)),
                    "merge: expected a convention for weights on the input (experts.weightPlace = input) but was"
                            + " merge.convention = olmo; choose merge.convention = sum, or experts.weightPlace = output");
            refused(
                    layer,
                    router(1, 2),
                    ScaledMerge.sum(),
                    "other.scale: expected 1.0 (the layer's, with experts.weightPlace = input) but was 2.0; a weight on"
                            + " the input stands inside the activation");
        }
    }

    @Test
    void tokensThatPassThrough() {
        String hint = "; it multiplies tokens that pass through, which no down projection reaches";
        MoeLayer passed = plain.withCapacity(Capacity.factor(1).withUnserved(UnservedTokens.PASSED));
        refused(
                passed,
                ScaledMerge.olmo(WIDTHS),
                "to: expected a routed factor of 1.0 (unserved tokens are PASSED) but was 2.0" + hint);
        refused( // the same for the experts, not for what passes
                passed,
                router(2, 0.5),
                ScaledMerge.scaled(2, 1),
                "to: expected a routed factor of 1.0 (unserved tokens are PASSED) but was 2.0" + hint);
        MoeLayer weighted = plain.withCapacity(Capacity.factor(1).withUnserved(UnservedTokens.PASSED_WEIGHTED));
        refused(
                weighted,
                router(2, 0.5),
                ScaledMerge.sum(),
                "to: expected the same product of routed factor and router.scale (unserved tokens are PASSED_WEIGHTED)"
                        + " but was 1.0" + hint);
    }

    @Test
    void aCapacityThatWouldLoseTheScale() {
        MoeLayer layer = plain.withCapacity(Capacity.factor(1).withKeptWeights(KeptWeights.UNIT_SUM));
        refused(
                layer,
                router(2, 0.5),
                ScaledMerge.sum(),
                "router: expected scale 1 (kept weights of the capacity add up to 1 and would lose it) but was 0.5; take"
                        + " KeptWeights.UNCHANGED");
    }

    @Test
    void aMergeThatReadsTheTokens() {
        GatedMerge gated = GatedMerge.random(2, D, SharedScore.SIGMOID, BACKEND, 1);
        MoeLayer layer =
                plain.withShared(new SharedBranch(plain.shared().orElseThrow().experts(), gated));
        refused(
                layer,
                ScaledMerge.sum(),
                "layer: expected a merge of fixed factors (ScaledMerge) but was GatedMerge; factors that depend on the"
                        + " tokens are no part of a down projection");
    }

    @Test
    void aWeightThatOverflows() {
        try (Parameters weights = plain.parameters();
                Parameters huge = weights.map((name, matrix) -> name.equals("experts.2.downBias")
                        ? BACKEND.matrix(1, D, new double[] {0, 0, 0, 1e308, 0})
                        : matrix.share());
                MoeLayer layer = plain.withParameters(huge)) {
            refused(
                    layer,
                    ScaledMerge.scaled(0.125, 1),
                    "experts.2.downBias: expected numbers that stay finite times 8.0 but was 1.0E308 in row 0, column 3");
        }
    }

    @Test
    void expertsOfAnUnknownClass() {
        Experts own = new Own(plain.experts());
        MoeLayer layer = MoeLayer.of(plain.router(), own)
                .withShared(new SharedBranch(
                        List.of(new Own(shared(4, new Activation.Relu(), true, 1))), ScaledMerge.sum()));
        refused(
                layer,
                ScaledMerge.scaled(2, 1),
                "experts: expected FeedForwardExperts or SwiGluExperts, whose outputs are sums over their intermediate"
                        + " units but was Own");
        refused(
                layer,
                ScaledMerge.scaled(1, 2),
                "shared[0]: expected FeedForwardExperts or SwiGluExperts, whose outputs are sums over their intermediate"
                        + " units but was Own");
        ConventionRewrite.of(layer, ScaledMerge.scaled(1, 1)).layer().close(); // nothing changes
    }

    @Test
    void aRouterThatIsAnother() {
        Matrix weight = ((SoftmaxRouter) plain.router()).weight();
        String only = "; only the scale of the router may differ";
        refusedRouter(
                SoftmaxRouter.of(Initializer.normal(1).draw(BACKEND, 3, D, 1), 2, 1),
                "other: expected 4 experts" + " (those of the layer's router) but was 3");
        refusedRouter(router(3, 1), "other: expected 2 as topK (that of the layer's router) but was 3");
        refusedRouter(
                new SoftmaxRouter(weight, 2, 1, false, true, 0),
                "other.unitSum: expected true (that of the layer's router) but was false");
        refusedRouter(
                new SoftmaxRouter(weight, 2, 1, true, false, 0),
                "other.fixedCount: expected true (that of the layer's router) but was false");
        refusedRouter(
                SoftmaxRouter.of(Initializer.normal(1).draw(BACKEND, 4, D + 1, 1), 2, 1),
                "other.tokenWidth: expected OptionalInt[5] (that of the layer's router) but was OptionalInt[6]");
        for (double scale : new double[] {-1, 0, Double.POSITIVE_INFINITY}) {
            refusedRouter(
                    SoftmaxRouter.of(weight, 2, scale),
                    "other.scale: expected a finite multiple above 0 of 1.0 (layer) but was " + scale);
        }
        double[] values = weight.toArray();
        values[7] = Math.nextUp(values[7]);
        refusedRouter(
                SoftmaxRouter.of(BACKEND.matrix(4, D, values), 2, 1),
                "other: expected the parameter weight of the layer's router, bit by bit but was another matrix" + only);
        refusedRouter(
                new SoftmaxRouter(weight, 2, 2, true, true, 1),
                "other: expected the routing of the layer's router, its weights times 2.0 but was another one for drawn"
                        + " token 0" + only);
    }

    private void refusedRouter(Router other, String message) {
        refused(plain, other, ScaledMerge.sum(), message);
    }

    /** A bank that says nothing of how its output depends on its parameters. */
    record Own(Experts bank) implements Experts {
        @Override
        public ExpertShape shape() {
            return bank.shape();
        }

        @Override
        public Backend backend() {
            return bank.backend();
        }

        @Override
        public ExpertsPass forward(Matrix tokens, int[] rows, RowGroups groups) {
            return bank.forward(tokens, rows, groups);
        }

        @Override
        public Matrix apply(Matrix tokens, int[] rows, RowGroups groups) {
            return bank.apply(tokens, rows, groups);
        }

        @Override
        public Parameters parameters() {
            return bank.parameters();
        }

        @Override
        public Experts withParameters(Parameters parameters) {
            return new Own(bank.withParameters(parameters));
        }

        @Override
        public void close() {
            bank.close();
        }
    }
}
