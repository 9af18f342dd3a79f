package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.vector.VectorBackend;

/** What merges round, and what the order of an expert's hidden units changes. */
class MergeRoundingTest {
    private static List<Backend> singles() {
        return List.of(
                VectorBackend.float32(), Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.HOST));
    }

    /**
     * With fixed factors and one shared expert the output is {@code α·routed + s·shared} in double, rounded once: half a unit in the last
     * place. Every element of the formula is exact in double but for the sum, whose rounding is 2⁻²⁹ of a unit of single precision.
     */
    @Test
    void fixedMergesOfTwoBranchesAreTheirFormulaRoundedOnce() {
        int layers = 0;
        long elements = 0;
        for (long seed = 0; seed < 2_000 && layers < 100; seed++) {
            if (LayerDraw.merge(seed).gateRows(1) > 0) {
                continue;
            }
            LayerCase c = LayerDraw.of(seed, 8, 40, new int[1]);
            if (c.shared().widths().size() != 1
                    || c.routed().latent().isPresent()
                    || c.sizes().tokens() == 0) {
                continue;
            }
            layers++;
            for (Backend backend : singles()) {
                elements += mergedOnce(LibraryDraws.in(c, backend), backend);
            }
        }
        assertThat(layers).isEqualTo(100);
        Promise.measured(
                7,
                "merges of two branches",
                "0 of " + elements + " elements off the formula rounded once; " + layers + " layers, 2 backends");
    }

    private static long mergedOnce(LayerCase c, Backend backend) {
        try (MoeLayer layer = LibraryLayer.of(c, backend);
                Matrix tokens = c.tokens().on(backend);
                MoePass pass = layer.forward(tokens, LibraryLayer.context(c));
                Matrix output = pass.output()) {
            double[] y = output.toArray();
            double[] routed = pass.routedOutput().toArray();
            double[] shared = pass.sharedOutputs().get(0).toArray();
            double alpha = TokenwiseMerge.routedFactor(c);
            double s = TokenwiseMerge.sharedCoefficients(c, 0)[0];
            for (int i = 0; i < y.length; i++) {
                assertThat(y[i]).as("element %d of %s on %s", i, c, backend).isEqualTo((float)
                        (alpha * routed[i] + s * shared[i]));
            }
            return y.length;
        }
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
