package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.Router;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.rewrite.ConventionRewrite;

/** Random layers of every kind and their rewrites from one fixed merge convention to another: the same function. */
class ConventionRewriteLayersTest {
    private static final int LAYERS = 1000;
    private static final double BOUND = 1e-13;
    private static final double[] SCALES = {1, 2.5, 0.4, 0.25};

    private static List<ScaledMerge> conventions(MoeLayer layer) {
        List<Experts> shared = layer.shared().map(SharedBranch::experts).orElse(List.of());
        ActiveWidths widths = ActiveWidths.of(layer.router(), layer.experts(), shared);
        return List.of(
                ScaledMerge.olmo(widths),
                ScaledMerge.routedUnitSum(widths),
                ScaledMerge.equalBranchMass(widths),
                ScaledMerge.widthProportional(widths),
                ScaledMerge.activeMean(layer.router().topK()),
                ScaledMerge.sum(),
                ScaledMerge.scaled(-1.5, 0.75));
    }

    private static boolean fits(ScaledMerge to, MoeLayer layer, Router router) {
        try {
            to.requireFits(
                    router,
                    layer.experts(),
                    layer.shared().map(SharedBranch::experts).orElse(List.of()));
            to.requirePlace(layer.weightPlace());
            layer.capacity().requireScale(router.scale());
            return true;
        } catch (IllegalArgumentException refused) {
            return false;
        }
    }

    /** The convention whose turn it is, or the next that fits. */
    private static ScaledMerge next(long seed, MoeLayer layer, Router router) {
        List<ScaledMerge> all = conventions(layer);
        int turn = (int) (seed / 11 % all.size());
        for (int i = 0; i < all.size(); i++) {
            ScaledMerge to = all.get((turn + i) % all.size());
            if (fits(to, layer, router)) {
                return to;
            }
        }
        throw new AssertionError("the plain sum fits every layer");
    }

    private static boolean isFixed(LayerCase c) {
        return !c.merge().convention().equals("sigmoid-gated")
                && !c.merge().convention().equals("shared-router");
    }

    /** Another scale of the router, in every second case that allows one. */
    private static OptionalDouble scale(LayerCase c, long seed) {
        boolean unitKept = c.capacity()
                .map(CapacityWords::keptWeights)
                .filter("unit-sum"::equals)
                .isPresent();
        return seed % 2 == 0 || c.routed().weighsInput() || unitKept
                ? OptionalDouble.empty()
                : OptionalDouble.of(SCALES[(int) (seed / 2 % SCALES.length)]);
    }

    /** A layer with that router. */
    private static Optional<MoeLayer> otherScale(LayerCase c, long seed, Backend backend) {
        OptionalDouble scale = scale(c, seed);
        return scale.isEmpty()
                ? Optional.empty()
                : Optional.of(LibraryLayer.of(c.with(MergeWords.of("none"), scale.getAsDouble()), backend));
    }

    static Map<String, double[]> arrays(LayerCase c, MoeLayer layer, Backend backend) {
        Map<String, double[]> arrays = new HashMap<>();
        try (Matrix tokens = c.tokens().on(backend);
                Matrix dOutput = c.dOutput().on(backend);
                MoePass pass = layer.forward(tokens, LibraryLayer.context(c));
                Gradients gradients = pass.backward(dOutput)) {
            Parameters d = gradients.parameters();
            d.names().forEach(name -> arrays.put(name, d.get(name).toArray()));
            arrays.put("tokens", gradients.input().toArray());
            arrays.put("output", pass.output().toArray());
            pass.output().close();
        }
        return arrays;
    }

    /** Output, gradient of the tokens and every other gradient, divided by what its parameter was multiplied by. */
    private static void sameFunction(
            LayerCase c, MoeLayer layer, ConventionRewrite rewrite, Backend backend, double u) {
        Map<String, double[]> before = arrays(c, layer, backend);
        Map<String, double[]> after = arrays(c, rewrite.layer(), backend);
        double[] output = before.remove("output");
        assertThat(Tolerance.distance(after.remove("output"), output))
                .as("output of %s", c)
                .isLessThanOrEqualTo(u * FiniteDifferences.norm(output));
        double norm = FiniteDifferences.norm(before.values().toArray(new double[0][]));
        before.forEach((name, gradient) -> {
            double c1 = name.equals("tokens") ? 1 : rewrite.rescaling(name).factor();
            double[] back = after.get(name).clone();
            for (int i = 0; i < back.length; i++) {
                back[i] *= c1;
            }
            assertThat(Tolerance.distance(back, gradient))
                    .as("%s of %s", name, c)
                    .isLessThanOrEqualTo(u * norm);
        });
    }

    private static boolean passes(LayerCase c) {
        return c.capacity()
                .map(CapacityWords::unserved)
                .filter(Predicate.not("zero"::equals))
                .isPresent();
    }

    @Test
    void aThousandLayersComputeTheSame() {
        Backend backend = ReferenceBackend.instance();
        Map<String, Integer> seen = new TreeMap<>();
        int[] excluded = new int[1];
        int rewritten = 0;
        int refused = 0;
        for (long seed = 0; rewritten < LAYERS; seed++) {
            LayerCase drawn = LayerDraw.of(seed, excluded);
            if (!isFixed(drawn)) {
                continue;
            }
            // the loss of importance reads weights with their scale, beside an epsilon
            LayerCase c = scale(drawn, seed).isPresent() ? drawn.withoutLosses() : drawn;
            Optional<MoeLayer> other = otherScale(c, seed, backend);
            try (MoeLayer layer = LibraryLayer.of(c, backend)) {
                Router router = other.map(MoeLayer::router).orElse(layer.router());
                ScaledMerge to = next(seed, layer, router);
                if (!passes(c)) {
                    seen.merge("to " + to.name(), 1, Integer::sum);
                    seen.merge("from " + c.merge().convention(), 1, Integer::sum);
                    seen.merge("another scale", router.scale() == layer.router().scale() ? 0 : 1, Integer::sum);
                    check(c, layer, router, to, backend);
                    rewritten++;
                } else {
                    refused += checkPassing(c, layer, router, to, backend);
                }
            } finally {
                other.ifPresent(MoeLayer::close);
            }
        }
        assertThat(seen)
                .hasSize(7 + 8 + 1)
                .allSatisfy((kind, number) -> assertThat(number).as(kind).isGreaterThanOrEqualTo(20));
        assertThat(refused).as("layers whose passing tokens forbid it").isGreaterThanOrEqualTo(20);
    }

    private static void check(LayerCase c, MoeLayer layer, Router router, ScaledMerge to, Backend backend) {
        ConventionRewrite rewrite = ConventionRewrite.of(layer, router, to);
        try (MoeLayer result = rewrite.layer()) {
            assertThat(result.shared().orElseThrow().merge()).isEqualTo(to);
            sameFunction(c, layer, rewrite, backend, BOUND);
        }
    }

    /** 1 when such a layer was rightly refused, 0 when what multiplies the passing tokens stayed as it was. */
    private static int checkPassing(LayerCase c, MoeLayer layer, Router router, ScaledMerge to, Backend backend) {
        double before = c.merge().convention().equals("none")
                ? 1
                : ((ScaledMerge) layer.shared().orElseThrow().merge()).routedScale();
        boolean weighted = c.capacity().orElseThrow().unserved().equals("passed-weighted");
        double scales = weighted ? layer.router().scale() / router.scale() : 1;
        if (before * scales == to.routedScale()) {
            check(c, layer, router, to, backend);
            return 0;
        }
        assertThatThrownBy(() -> ConventionRewrite.of(layer, router, to))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("to: expected")
                .hasMessageEndingWith("it multiplies tokens that pass through, which no down projection reaches");
        return 1;
    }

    /** On the fast backends too, to the bound of a layer. */
    @ParameterizedTest
    @MethodSource("org.moe4j.bench.layer.LayerChecks#fastBackends")
    void theSameOnFastBackends(Backend backend) {
        int rewritten = 0;
        for (long seed = 0; rewritten < 40; seed++) {
            LayerCase c = LayerDraw.of(seed, 8, 24, new int[1]);
            if (!isFixed(c) || passes(c)) {
                continue;
            }
            try (MoeLayer layer = LibraryLayer.of(c, backend)) {
                ConventionRewrite rewrite = ConventionRewrite.of(layer, next(seed, layer, layer.router()));
                try (MoeLayer result = rewrite.layer()) {
                    assertThat(result).isNotSameAs(layer);
                    sameFunction(c, layer, rewrite, backend, 2 * LayerChecks.bound(backend, c));
                }
            }
            rewritten++;
        }
    }

    /** What is finite in single precision before is so after, or the rewrite says where not. */
    @Test
    void singlePrecisionOverflows() {
        Backend backend = Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.HOST);
        long seed = 0;
        while (!LayerDraw.merge(seed).convention().equals("sum")) {
            seed++;
        }
        LayerCase drawn = LayerDraw.ofSwiGlu(seed, 8, 10);
        double[] down = drawn.parameters().get("experts.0.down").values().clone();
        down[3] = -3e38f;
        LayerCase c = drawn.with("experts.0.down", down);
        try (MoeLayer layer = LibraryLayer.of(c, backend)) {
            assertThatThrownBy(() -> ConventionRewrite.of(layer, ScaledMerge.scaled(0.5, 1)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("experts.0.down: expected numbers that stay finite times 2.0 but was " + (double) -3e38f
                            + " in row 0, column 3");
            ConventionRewrite.of(layer, ScaledMerge.scaled(2, 1)).layer().close();
        }
    }

    /** All down projections would be 0, which no number of theirs shows. */
    @Test
    void factorsThatSinglePrecisionCannotHold() {
        Backend backend = Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.HOST);
        long seed = 0;
        while (!LayerDraw.merge(seed).convention().equals("sum")) {
            seed++;
        }
        LayerCase c = LayerDraw.ofSwiGlu(seed, 8, 10);
        ScaledMerge far = ScaledMerge.scaled(0x1p200, 1);
        try (MoeLayer narrow = LibraryLayer.of(c, backend);
                MoeLayer wide = LibraryLayer.of(c, ReferenceBackend.instance())) {
            assertThatThrownBy(() -> ConventionRewrite.of(narrow, far))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("to: expected a routed factor whose quotient with that of the layer has a square and a"
                            + " reciprocal in the range of Nd4jBackend[float32] but was a quotient of " + 0x1p-200);
            ConventionRewrite.of(wide, far).layer().close();
        }
    }
}
