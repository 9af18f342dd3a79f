package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.bench.layer.TokenwiseRouter.Choice;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.vector.VectorBackend;

/**
 * Layers of SwiGLU experts in single precision on numbers that are hard: each element of the output against the definition in double, in
 * units of {@code √max(D, F)·u·gauge}, the gauge being {@link LayerGauge}, plus what gradual underflow takes.
 */
class HardNumbersTest {
    private static final double BOUND = 1;

    private final Map<String, Double> worst = new TreeMap<>();
    private int layers;
    private int nearTies;

    private static List<Backend> backends() {
        return List.of(
                VectorBackend.float32(), Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.HOST));
    }

    /** Tokens times a power of two; what makes logits and gates of them divided by it, as far as a float can be. */
    private static LayerCase scaled(LayerCase c, int power) {
        LayerCase scaled = c.with("tokens", times(c.tokens(), power));
        int back = Math.min(120, -power);
        for (String name : List.of("router.weight", "router.noise", "merge.gate")) {
            if (c.parameters().containsKey(name)) {
                scaled = scaled.with(name, times(c.parameters().get(name), back));
            }
        }
        return scaled;
    }

    private static double[] times(Numbers numbers, int power) {
        double[] times = numbers.values().clone();
        for (int i = 0; i < times.length; i++) {
            times[i] = (float) Math.scalb(times[i], power);
        }
        return times;
    }

    /** Neighbouring columns of gate and up nearly equal, neighbouring numbers of tokens nearly opposite. */
    private static LayerCase cancelling(LayerCase c) {
        LayerCase cancelling = c.with("tokens", paired(c.tokens(), -1));
        for (String name : c.parameters().keySet()) {
            if ((name.endsWith(".gate") && !name.startsWith("merge")) || name.endsWith(".up")) {
                cancelling = cancelling.with(name, paired(c.parameters().get(name), 1));
            }
        }
        return cancelling;
    }

    private static double[] paired(Numbers of, int sign) {
        double[] values = of.values().clone();
        for (int row = 0; row < of.rows(); row++) {
            for (int i = 1; i < of.columns(); i += 2) {
                int at = row * of.columns() + i;
                values[at] = (float) (sign * values[at - 1] * (1 + 0x1p-12 * values[at]));
            }
        }
        return values;
    }

    private static LayerCase saturating(LayerCase c) {
        LayerCase saturating = c;
        for (String name : c.parameters().keySet()) {
            if (name.endsWith(".gate") && !name.startsWith("merge")) {
                double[] values = c.parameters().get(name).values().clone();
                for (int i = 0; i < values.length; i++) {
                    values[i] = (float) (3e4 * values[i]);
                }
                saturating = saturating.with(name, values);
            }
        }
        return saturating;
    }

    private static LayerCase sparse(LayerCase c, boolean oneHot) {
        double[] values = c.tokens().values().clone();
        int columns = c.tokens().columns();
        for (int i = 0; i < values.length; i++) {
            boolean kept = oneHot && i % columns == i / columns % columns;
            values[i] = kept || (!oneHot && i / columns % 2 == 1) ? values[i] : 0;
        }
        return c.with("tokens", values);
    }

    private static final Map<String, UnaryOperator<LayerCase>> KINDS = Map.of(
            "unit", c -> c,
            "tokens of 2^60", c -> scaled(c, 60),
            "tokens of 2^-55", c -> scaled(c, -55),
            "subnormal tokens", c -> scaled(c, -132),
            "cancelling", HardNumbersTest::cancelling,
            "gates of 1e4 and more", HardNumbersTest::saturating,
            "one-hot tokens", c -> sparse(c, true),
            "every second token zero", c -> sparse(c, false));

    private void check(long from, long to) {
        for (long seed = from; seed < to; seed++) {
            LayerCase plain =
                    LayerDraw.ofUnitLogits(seed, true, 8, 64, new int[1]).plain();
            layers++;
            KINDS.forEach((kind, change) -> {
                LayerCase c = change.apply(plain);
                for (Backend backend : backends()) {
                    try (MoeLayer layer = LibraryLayer.of(c, backend);
                            Matrix tokens = c.tokens().on(backend);
                            MoePass pass = layer.forward(tokens);
                            Matrix y = pass.output()) {
                        if (sameExperts(c, pass)) {
                            double error = worst(c, y.toArray(), kind + " of " + c + " on " + backend);
                            worst.merge(kind, error, Math::max);
                        } else {
                            nearTies++;
                        }
                    }
                }
            });
        }
    }

    private static boolean sameExperts(LayerCase c, MoePass pass) {
        List<Choice> choices = TokenwiseRoutes.choices(c);
        for (int t = 0; t < choices.size(); t++) {
            Set<Integer> expected = new HashSet<>();
            for (int expert : choices.get(t).experts()) {
                expected.add(expert);
            }
            Set<Integer> actual = new HashSet<>();
            for (int rank = 0; rank < pass.routing().count(t); rank++) {
                actual.add(pass.routing().expert(t, rank));
            }
            if (!actual.equals(expected)) {
                return false;
            }
        }
        return true;
    }

    private static double worst(LayerCase c, double[] actual, String what) {
        double[] expected = TokenwiseLayer.output(c);
        double[] gauge = LayerGauge.of(c);
        int width = Math.max(c.sizes().width(), c.shared().width());
        double unit = 0x1p-24 * Math.sqrt(Math.max(c.sizes().hidden(), width));
        double worst = 0;
        for (int i = 0; i < actual.length; i++) {
            // a unit below the normal numbers is off by half a smallest number, and so is each step of the sum over the
            // units
            double underflow = Float.MIN_VALUE * (width + 1.0) * 12;
            double error = Math.abs(actual[i] - expected[i]);
            double ratio = error == 0 ? 0 : error / (unit * gauge[i] + underflow / BOUND);
            assertThat(ratio)
                    .as("element %d of %s: %s for %s", i, what, actual[i], expected[i])
                    .isLessThanOrEqualTo(BOUND);
            worst = Math.max(worst, ratio);
        }
        return worst;
    }

    private void keep(String which) {
        assertThat(nearTies).isLessThan(layers * KINDS.size() / 20);
        worst.forEach((kind, error) -> Promise.measured(
                2,
                "hard numbers, " + kind + ", " + which,
                String.format(
                        Locale.ROOT,
                        "worst element %.2f times sqrt(max(D, F)) u gauge; %,d layers, 2 backends; %d runs of all kinds near a tie",
                        error,
                        layers,
                        nearTies)));
    }

    @Test
    void hardNumbersKeepToTheGauge() {
        check(0, 60);
        keep("every run");
    }

    @Test
    @Tag("soak")
    void manyHardNumbersKeepToTheGauge() {
        check(1_000, 6_000);
        keep("soak");
    }

    /** Units of 2¹⁸⁰ are beyond single precision: infinite or not a number, where the output would be, and no exception. */
    @Test
    void whatOverflowsIsNotFiniteAndNoError() {
        int overflowing = 0;
        for (long seed = 0; seed < 40; seed++) {
            LayerCase c =
                    scaled(LayerDraw.ofUnitLogits(seed, true, 8, 64, new int[1]).plain(), 90);
            double[] expected = TokenwiseLayer.output(c);
            for (Backend backend : backends()) {
                try (MoeLayer layer = LibraryLayer.of(c, backend);
                        Matrix tokens = c.tokens().on(backend);
                        Matrix y = layer.apply(tokens)) {
                    double[] actual = y.toArray();
                    for (int i = 0; i < actual.length; i++) {
                        if (Math.abs(expected[i]) > 2.0 * Float.MAX_VALUE) {
                            overflowing++;
                            assertThat(Double.isFinite(actual[i]))
                                    .as("%s for %s in %s", actual[i], expected[i], c)
                                    .isFalse();
                        }
                    }
                }
            }
        }
        assertThat(overflowing).as("elements beyond single precision").isPositive();
    }

    /** Tokens of any size stay zeros where they are: no noise comes from nowhere. */
    @Test
    void aZeroTokenGivesAnExactZero() {
        for (long seed = 0; seed < 60; seed++) {
            LayerCase c = LayerDraw.ofUnitLogits(seed, true, 8, 64, new int[1]).plain();
            LayerCase zero = c.with("tokens", new double[c.tokens().values().length]);
            for (Backend backend : backends()) {
                try (MoeLayer layer = LibraryLayer.of(zero, backend);
                        Matrix tokens = zero.tokens().on(backend);
                        Matrix y = layer.apply(tokens)) {
                    assertThat(Arrays.stream(y.toArray())).as("%s", c).allMatch(value -> value == 0);
                }
            }
        }
    }
}
