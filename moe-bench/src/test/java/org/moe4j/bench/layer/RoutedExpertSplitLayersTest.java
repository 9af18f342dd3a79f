package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.dispatch.WeightPlace;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;
import org.moe4j.core.testing.Tolerance;
import org.moe4j.merge.ActiveWidths;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.merge.rewrite.RoutedExpertSplit;
import org.moe4j.router.InheritedRows;
import org.moe4j.router.Renormalization;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.ScoreFunction;
import org.moe4j.router.TopKRouter;

/** Random layers with every router whose rows can be inherited, their experts split into parts: the same function. */
class RoutedExpertSplitLayersTest {
    private static final Backend REFERENCE = ReferenceBackend.instance();
    private static final double BOUND = 1e-13;
    private static final int LAYERS = 400;

    /** A drawn case without capacity and losses; with its noise. */
    private static LayerCase draw(long seed, int low, int high) {
        LayerCase c = LayerDraw.of(seed, low, high, new int[1]).withoutLosses();
        return new LayerCase(
                c.name(),
                c.sizes(),
                c.router(),
                c.routed(),
                c.shared(),
                c.merge(),
                Optional.empty(),
                c.training(),
                c.parameters(),
                c.tokens(),
                c.dOutput());
    }

    /** A divisor of F, by turns the smallest above 1 and F itself. */
    private static int parts(LayerCase c, long seed) {
        int width = c.sizes().width();
        int m = seed % 2 == 0 ? 2 : width;
        while (width % m != 0) {
            m++;
        }
        return m;
    }

    /** The rows of a part, or its columns of a down projection; the down bias is not cut. */
    private static double[] slice(String name, LayerCase.Numbers shape, double[] values, int part, int parts) {
        if (name.endsWith("downBias")) {
            return values;
        }
        boolean below = name.endsWith("gate") || name.endsWith("up");
        int rows = below ? shape.rows() / parts : shape.rows();
        int columns = below ? shape.columns() : shape.columns() / parts;
        double[] slice = new double[rows * columns];
        for (int i = 0; i < slice.length; i++) {
            int row = below ? part * rows + i / columns : i / columns;
            int column = below ? i % columns : part * columns + i % columns;
            slice[i] = values[row * shape.columns() + column];
        }
        return slice;
    }

    private static double[] times(double[] values, double factor) {
        double[] product = values.clone();
        for (int i = 0; i < product.length; i++) {
            product[i] *= factor;
        }
        return product;
    }

    /** The gradient of a router's row is what those of its copies add up to. */
    private static double[] added(double[] copies, int width, int parts) {
        double[] sum = new double[copies.length / parts];
        for (int i = 0; i < copies.length; i++) {
            sum[i / width / parts * width + i % width] += copies[i];
        }
        return sum;
    }

    private static void sameFunction(LayerCase c, MoeLayer layer, RoutedExpertSplit split, int parts, double u) {
        Backend backend = layer.experts().backend();
        Map<String, double[]> before = ConventionRewriteLayersTest.arrays(c, layer, backend);
        Map<String, double[]> after = ConventionRewriteLayersTest.arrays(c, split.layer(), backend);
        double[] output = before.remove("output");
        assertThat(Tolerance.distance(after.get("output"), output))
                .as("output of %s", c)
                .isLessThanOrEqualTo(u * FiniteDifferences.norm(output));
        double allowed = u * FiniteDifferences.norm(before.values().toArray(new double[0][]));
        before.forEach((name, gradient) -> {
            boolean down = name.endsWith(".down") || name.endsWith(".downBias");
            if (name.startsWith("experts.")) {
                String[] words = name.split("\\.", -1);
                for (int i = 0; i < parts; i++) {
                    String part = "experts." + (Integer.parseInt(words[1]) * parts + i) + "." + words[2];
                    double[] expected = slice(name, c.number(name), gradient, i, parts);
                    double[] actual =
                            times(after.get(part), down ? split.routedDown().factor() : 1);
                    assertThat(Tolerance.distance(actual, expected))
                            .as("%s of %s", part, c)
                            .isLessThanOrEqualTo(allowed);
                }
                return;
            }
            double[] actual = after.get(name);
            if (name.equals("router.weight")) {
                actual = added(actual, c.sizes().hidden(), parts);
            } else if (name.equals("router.bias")) {
                actual = added(actual, 1, parts);
            } else if (name.startsWith("shared.") && down) {
                actual = times(actual, split.sharedDown().factor());
            }
            assertThat(Tolerance.distance(actual, gradient))
                    .as("%s of %s", name, c)
                    .isLessThanOrEqualTo(allowed);
        });
    }

    /** The split layer; empty where the router says that its rows cannot be inherited. */
    private static Optional<RoutedExpertSplit> split(MoeLayer layer, int parts) {
        InheritedRows rows;
        try {
            rows = InheritedRows.of((TopKRouter) layer.router(), parts);
        } catch (IllegalArgumentException refused) {
            assertThat(refused).hasMessageMatching("(selection|renormalization|router\\.noise)[.:].*");
            return Optional.empty();
        }
        try (TopKRouter router = rows.router()) {
            return Optional.of(RoutedExpertSplit.of(layer, parts, router, rows.weightOfCopy()));
        }
    }

    @Test
    void splitLayersComputeTheSame() {
        Map<String, Integer> seen = new TreeMap<>();
        int refused = 0;
        for (long seed = 0, done = 0; done < LAYERS; seed++) {
            LayerCase c = draw(seed, 1, 10);
            if (c.sizes().width() == 1 || c.routed().weighsInput()) {
                continue;
            }
            int parts = parts(c, seed);
            try (MoeLayer layer = LibraryLayer.of(c, REFERENCE)) {
                Optional<RoutedExpertSplit> split = split(layer, parts);
                if (split.isEmpty()) {
                    refused++;
                    continue;
                }
                try (MoeLayer result = split.get().layer()) {
                    assertThat(result.router().topK())
                            .isEqualTo(parts * c.router().topK());
                    sameFunction(c, layer, split.get(), parts, BOUND);
                }
            }
            done++;
            seen.merge("merge " + c.merge().convention(), 1, Integer::sum);
            seen.merge("score " + c.router().score(), 1, Integer::sum);
            seen.merge("weights " + c.router().weighing().renormalization(), 1, Integer::sum);
            seen.merge("selection bias", c.router().selectionBias().isEmpty() ? 0 : 1, Integer::sum);
            seen.merge("groups", c.router().groups().isPresent() ? 1 : 0, Integer::sum);
            seen.merge("latent", c.routed().latent().isPresent() ? 1 : 0, Integer::sum);
            seen.merge("biases", c.routed().kind().biases() ? 1 : 0, Integer::sum);
        }
        assertThat(seen)
                .hasSize(10 + 3 + 4 + 4)
                .allSatisfy((kind, number) -> assertThat(number).as(kind).isGreaterThanOrEqualTo(15));
        assertThat(refused).as("routers whose rows cannot be inherited").isGreaterThan(LAYERS / 4);
    }

    /** With logits in double precision, so that equal rows give equal logits; to the bound of a layer. */
    @ParameterizedTest
    @MethodSource("org.moe4j.bench.layer.LayerChecks#fastBackends")
    void theSameOnFastBackends(Backend backend) {
        int done = 0;
        for (long seed = 0; done < 20; seed++) {
            LayerCase c = draw(seed, 8, 24);
            if (!c.router().precision().equals("double") || c.routed().weighsInput()) {
                continue;
            }
            try (MoeLayer layer = LibraryLayer.of(c, backend)) {
                int parts = parts(c, seed);
                Optional<RoutedExpertSplit> split = split(layer, parts);
                if (split.isPresent()) {
                    sameFunction(c, layer, split.get(), parts, 4 * LayerChecks.bound(backend, c));
                    split.get().layer().close();
                    done++;
                }
            }
        }
    }

    private static final int HIDDEN = 16;
    private static final ExpertShape SHAPE = new ExpertShape(8, HIDDEN, 12);

    private static MoeLayer layer(TopKRouter router) {
        ScaledMerge merge =
                router.unitSum() ? ScaledMerge.olmo(new ActiveWidths(router.topK(), 12, 20)) : ScaledMerge.sum();
        return MoeLayer.of(router, SwiGluExperts.random(SHAPE, REFERENCE, 2))
                .withShared(SharedBranch.of(SwiGluExperts.random(new ExpertShape(1, HIDDEN, 20), REFERENCE, 3), merge));
    }

    /** Relative RMS of the difference of two outputs. */
    private static double difference(MoeLayer a, MoeLayer b, int tokens) {
        try (Matrix x = Initializer.normal(1).draw(REFERENCE, tokens, HIDDEN, 4);
                Matrix ya = a.apply(x);
                Matrix yb = b.apply(x)) {
            double[] expected = ya.toArray();
            double[] actual = yb.toArray();
            double squares = 0;
            double norm = 0;
            for (int i = 0; i < expected.length; i++) {
                squares += (actual[i] - expected[i]) * (actual[i] - expected[i]);
                norm += expected[i] * expected[i];
            }
            return Math.sqrt(squares / norm);
        }
    }

    /** Every second expert has the row of the one before, so that experts tie at the last place that is taken. */
    @Test
    void tiesOfExpertsAreKept() {
        for (int topK = 1; topK < 8; topK += 2) {
            RouterConfig config = RouterConfig.topK(8, topK).withRenormalization(new Renormalization.Sum());
            double[] rows = Initializer.normal(1).draw(REFERENCE, 8, HIDDEN, 1).toArray();
            System.arraycopy(rows, 0, rows, HIDDEN, HIDDEN);
            System.arraycopy(rows, 2 * HIDDEN, rows, 3 * HIDDEN, HIDDEN);
            System.arraycopy(rows, 2 * HIDDEN, rows, 6 * HIDDEN, HIDDEN);
            for (double[] weight : new double[][] {rows, new double[rows.length]}) {
                try (MoeLayer layer = layer(TopKRouter.of(config, REFERENCE.matrix(8, HIDDEN, weight)));
                        MoeLayer split = split(layer, 4).orElseThrow().layer()) {
                    assertThat(difference(layer, split, 64)).isLessThan(1e-14);
                }
            }
        }
    }

    /** Rows of its own mix parts of several experts: nothing of the sameness is left. */
    @Test
    void withRowsOfItsOwnItIsAnotherFunction() {
        for (RouterConfig config : new RouterConfig[] {
            RouterConfig.topK(8, 2).withRenormalization(new Renormalization.Sum()),
            RouterConfig.topK(8, 2).withScore(new ScoreFunction.Sigmoid())
        }) {
            try (MoeLayer layer = layer(TopKRouter.random(config, HIDDEN, REFERENCE, 1));
                    MoeLayer split = split(layer, 3).orElseThrow().layer()) {
                assertThat(difference(layer, split, 256)).isLessThan(1e-14);
                RouterConfig wide = ((TopKRouter) split.router()).config();
                double clear = 0.5; // the shared expert is still the same, and a part of the routed output by chance
                try (TopKRouter own = TopKRouter.random(wide, HIDDEN, REFERENCE, 5)) {
                    double other = difference(layer, split.withRouter(own), 256);
                    assertThat(other).as("relative RMS of the difference").isGreaterThan(clear);
                }
                TopKRouter own = TopKRouter.random(wide, HIDDEN, REFERENCE, 5);
                assertThatThrownBy(() -> RoutedExpertSplit.of(layer, 3, own, InheritedRows.weightOfCopy(config, 3)))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageStartingWith("inherited: expected all parts of a token's experts");
            }
        }
    }

    @Test
    void weightsOnTheInputAreRefused() {
        RouterConfig config = RouterConfig.topK(8, 1);
        try (MoeLayer plain = MoeLayer.of(
                TopKRouter.random(config, HIDDEN, REFERENCE, 1), SwiGluExperts.random(SHAPE, REFERENCE, 2))) {
            MoeLayer layer = plain.withWeightPlace(WeightPlace.INPUT);
            assertThatThrownBy(() -> split(layer, 2))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("layer.weightPlace: expected OUTPUT, where the parts");
        }
    }
}
