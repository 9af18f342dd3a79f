package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.expert.ExpertShape;
import org.moe4j.core.expert.Experts;
import org.moe4j.core.expert.SwiGluExperts;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.layer.SharedBranch;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.vector.VectorBackend;
import org.moe4j.merge.ScaledMerge;
import org.moe4j.router.RouterConfig;
import org.moe4j.router.TopKRouter;

/** What merges round, and what the order of an expert's hidden units changes. */
class MergeRoundingTest {
    private static List<Backend> singles() {
        return List.of(
                VectorBackend.float32(), Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.HOST));
    }

    /**
     * With fixed factors the output is {@code α·routed + s·shared} in double, rounded once, and every further shared expert is added to that,
     * {@code y + s·shared} in double, and rounded once more: half a unit in the last place each.
     */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void fixedMergesAreTheirFormulaRoundedOnceForEachSharedExpert(int experts) {
        int layers = 0;
        long elements = 0;
        for (long seed = 0; seed < 10_000 && layers < 100; seed++) {
            if (LayerDraw.merge(seed).gateRows(1) > 0) {
                continue;
            }
            LayerCase c = LayerDraw.of(seed, 8, 40, new int[1]);
            if (c.shared().widths().size() != experts
                    || c.routed().latent().isPresent()
                    || c.sizes().tokens() == 0) {
                continue;
            }
            layers++;
            for (Backend backend : singles()) {
                elements += merged(LibraryDraws.in(c, backend), backend);
            }
        }
        assertThat(layers).isEqualTo(100);
        Promise.measured(
                7,
                "merges with shared experts: " + experts,
                "0 of " + elements + " elements off the formula rounded once for each; " + layers
                        + " layers on each of " + singles().size() + " backends");
    }

    private static long merged(LayerCase c, Backend backend) {
        try (MoeLayer layer = LibraryLayer.of(c, backend);
                Matrix tokens = c.tokens().on(backend);
                MoePass pass = layer.forward(tokens, LibraryLayer.context(c))) {
            return requireMerged(
                    pass,
                    TokenwiseMerge.routedFactor(c),
                    TokenwiseMerge.sharedCoefficients(c, 0),
                    c + " on " + backend);
        }
    }

    /** How many elements were compared. */
    private static long requireMerged(MoePass pass, double alpha, double[] s, String what) {
        double[] expected = pass.routedOutput().toArray();
        Arrays.setAll(expected, i -> alpha * expected[i]);
        for (int j = 0; j < s.length; j++) {
            double[] shared = pass.sharedOutputs().get(j).toArray();
            double factor = s[j];
            Arrays.setAll(expected, i -> (float) (expected[i] + factor * shared[i]));
        }
        try (Matrix output = pass.output()) {
            assertThat(output.toArray()).as(what).isEqualTo(expected);
        }
        return expected.length;
    }

    /** As many as no drawn layer has, of widths of their own. */
    @Test
    void manySharedExpertsRoundOnceEach() {
        int hidden = 24;
        long elements = 0;
        for (int experts = 3; experts <= 5; experts++) {
            for (double[] factors : new double[][] {{1, 1}, {-1.5, 0.75}, {3, 0.1}}) {
                for (Backend backend : singles()) {
                    List<Experts> shared = new ArrayList<>();
                    for (int j = 0; j < experts; j++) {
                        shared.add(SwiGluExperts.random(new ExpertShape(1, hidden, 8 + 5 * j), backend, 10 + j));
                    }
                    double[] s = new double[experts];
                    Arrays.fill(s, factors[1]);
                    try (MoeLayer layer = MoeLayer.of(
                                            TopKRouter.random(RouterConfig.topK(6, 2), hidden, backend, 1),
                                            SwiGluExperts.random(new ExpertShape(6, hidden, 16), backend, 2))
                                    .withShared(new SharedBranch(shared, ScaledMerge.scaled(factors[0], factors[1])));
                            Matrix tokens = Initializer.normal(1).draw(backend, 20, hidden, 3);
                            MoePass pass = layer.forward(tokens)) {
                        elements += requireMerged(pass, factors[0], s, experts + " shared experts on " + backend);
                    }
                }
            }
        }
        Promise.measured(
                7,
                "merges with 3 to 5 shared experts",
                "0 of " + elements + " elements off the formula rounded once for each");
    }

    /** Sums run over the units upwards, so that another order of the units rounds otherwise: by 2·√F·u of the terms' size at most. */
    @Test
    void anotherOrderOfHiddenUnitsIsAnotherRoundingOfTheSameSum() {
        double worst = 0;
        long changed = 0;
        long elements = 0;
        for (long seed = 0; seed < 100; seed++) {
            LayerCase c = LayerDraw.ofUnitLogits(seed, true, 8, 200, new int[1]);
            LayerCase turned = turned(c, new SplittableRandom(seed));
            for (Backend backend : singles()) { // OpenBLAS rounds a row of gate and up by its place too
                double[] gauge = backend instanceof VectorBackend ? LayerGauge.ofDown(c) : LayerGauge.of(c);
                double[] y = output(c, backend);
                double[] z = output(turned, backend);
                for (int i = 0; i < y.length; i++) {
                    double allowed =
                            2 * Math.sqrt(Math.max(c.sizes().width(), c.shared().width())) * 0x1p-24 * gauge[i];
                    double error = Math.abs(y[i] - z[i]);
                    worst = Math.max(worst, error == 0 ? 0 : error / allowed);
                    changed += error == 0 ? 0 : 1;
                    elements++;
                }
            }
        }
        assertThat(worst).isLessThanOrEqualTo(1);
        assertThat(changed).isPositive();
        Promise.measured(
                7,
                "order of hidden units",
                String.format(
                        Locale.ROOT,
                        "worst %.2f of 2 sqrt(F) u gauge; bits of %d of %d elements change",
                        worst,
                        changed,
                        elements));
    }

    private static double[] output(LayerCase c, Backend backend) {
        LayerCase drawn = LibraryDraws.in(c, backend);
        try (MoeLayer layer = LibraryLayer.of(drawn, backend);
                Matrix tokens = drawn.tokens().on(backend);
                Matrix y = layer.apply(tokens, LibraryLayer.context(drawn))) {
            return y.toArray();
        }
    }

    /** Every expert with its units in another order: rows of gate and up, columns of down. */
    private static LayerCase turned(LayerCase c, SplittableRandom random) {
        LayerCase turned = c;
        for (String name : c.parameters().keySet()) {
            if (name.endsWith(".down") && !name.startsWith("latent")) {
                String expert = name.substring(0, name.length() - ".down".length());
                Numbers down = c.parameters().get(name);
                int[] order = new int[down.columns()];
                for (int i = 0; i < order.length; i++) {
                    int at = random.nextInt(i + 1);
                    order[i] = order[at];
                    order[at] = i;
                }
                turned = turned.with(name, columns(down, order))
                        .with(expert + ".gate", rows(c.parameters().get(expert + ".gate"), order))
                        .with(expert + ".up", rows(c.parameters().get(expert + ".up"), order));
            }
        }
        return turned;
    }

    private static double[] rows(Numbers of, int[] order) {
        double[] values = new double[of.values().length];
        for (int i = 0; i < order.length; i++) {
            System.arraycopy(of.values(), order[i] * of.columns(), values, i * of.columns(), of.columns());
        }
        return values;
    }

    private static double[] columns(Numbers of, int[] order) {
        double[] values = new double[of.values().length];
        for (int r = 0; r < of.rows(); r++) {
            for (int i = 0; i < order.length; i++) {
                values[r * order.length + i] = of.values()[r * order.length + order[i]];
            }
        }
        return values;
    }
}
