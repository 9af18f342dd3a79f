package org.moe4j.core.backend;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.PlainActivations;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.testing.definition.ExactActivations;
import org.moe4j.core.vector.VectorBackend;

/**
 * Activations and their slopes over the bit patterns of all floats, in even steps: numbers of every size and sign, subnormal ones and NaN
 * among them. In single precision against the definition in double, in double against one with twice the digits. What steps do not
 * meet, zeros of both signs, infinities and the smallest and largest numbers, has {@link ActivationLimitsTest}.
 */
final class ActivationAccuracyTest {
    private static final int BLOCK = 1 << 12;
    private static final long PATTERNS = 1L << 32;

    /**
     * What a value may be off, in units in the last place: it is computed in double and rounded once, which is half a unit. σ is known to
     * 6·10⁻¹⁰ relative for |t| = 110, and to |t|⁷ of that for less, by the first term that its polynomial leaves out. A normal result has |t|
     * below 93, so 1.9·10⁻¹⁰, and at most 2²⁴ units: 0.0032 of a unit. A subnormal one has at most 2²³: 0.0051.
     */
    static final double VALUE = 0.51;

    /** What a slope may be off beside its last place: σ is known to 6·10⁻¹⁰, and slopes have zeros. */
    private static final double SLOPE_ALONE = 0x1p-30;

    /** The largest error of one kind, in units that its test says. */
    private static final class Worst {
        private final Map<String, Double> errors = new LinkedHashMap<>();
        private final Map<String, String> places = new LinkedHashMap<>();

        void see(String kind, double error, double at) {
            if (Double.isNaN(error) || error > errors.getOrDefault(kind, -1.0)) { // nothing is larger than a NaN
                errors.put(kind, error);
                places.put(kind, kind + " at " + at);
            }
        }

        double atMost(double limit) {
            double worst = 0;
            for (Map.Entry<String, Double> error : errors.entrySet()) {
                assertThat(error.getValue()).as(places.get(error.getKey())).isLessThanOrEqualTo(limit);
                worst = Math.max(worst, error.getValue());
            }
            return worst;
        }
    }

    /** One number through an activation: as gate with up 1 where there is a gate. */
    private static Projections projections(Activation activation, Matrix x, Matrix ones) {
        return activation.gated() ? Projections.of(x, ones) : Projections.of(x);
    }

    /** Of an activation, with up 1 where there is a gate. */
    static double[] values(Backend backend, Activation activation, double[] x) {
        try (Matrix at = backend.matrix(1, x.length, x);
                Matrix ones = ones(backend, x.length);
                Matrix y = backend.activate(activation, projections(activation, at, ones))) {
            return y.toArray();
        }
    }

    /** By the gate where there is one, and else by up. */
    static double[] slopes(Backend backend, Activation activation, double[] x) {
        try (Matrix at = backend.matrix(1, x.length, x);
                Matrix ones = ones(backend, x.length)) {
            Projections d = backend.activateBackward(activation, projections(activation, at, ones), ones);
            try (Matrix up = d.up()) {
                return d.gate()
                        .map(gate -> {
                            try (gate) {
                                return gate.toArray();
                            }
                        })
                        .orElseGet(up::toArray);
            }
        }
    }

    private static Matrix ones(Backend backend, int count) {
        double[] ones = new double[count];
        Arrays.fill(ones, 1);
        return backend.matrix(1, count, ones);
    }

    private static double value(Activation activation, double x) {
        return activation.gated() ? PlainActivations.value(activation, x, 1) : PlainActivations.value(activation, 0, x);
    }

    private static double slope(Activation activation, double x) {
        return activation.gated()
                ? PlainActivations.gateSlope(activation, x, 1)
                : PlainActivations.upSlope(activation, 0, x);
    }

    private static void singles(long step) {
        List<Backend> backends = List.of(
                VectorBackend.float32(), Nd4jBackend.of(Nd4jBackend.Precision.FLOAT32, Nd4jBackend.Strategy.HOST));
        Worst values = new Worst();
        Worst slopes = new Worst();
        long patterns = 0;
        for (long from = 0; from < PATTERNS; from += step * BLOCK) {
            double[] x = new double[(int) Math.min(BLOCK, (PATTERNS - from + step - 1) / step)];
            for (int i = 0; i < x.length; i++) {
                x[i] = Float.intBitsToFloat((int) (from + i * step));
            }
            patterns += x.length;
            for (Activation activation : PlainActivations.ALL) {
                double[] value =
                        Arrays.stream(x).map(at -> value(activation, at)).toArray();
                double[] slope =
                        Arrays.stream(x).map(at -> slope(activation, at)).toArray();
                for (Backend backend : backends) {
                    String kind = backend.name() + " " + activation;
                    measured(values, kind, x, values(backend, activation, x), value, 0);
                    measured(slopes, kind + ", slope", x, slopes(backend, activation, x), slope, SLOPE_ALONE);
                }
            }
        }
        Promise.measured(
                4,
                "activations in single precision",
                String.format(
                        Locale.ROOT,
                        "worst %.3f ulp, slopes %.3f (ulp + 2^-30); %,d of all float patterns, %d activations, 2 backends",
                        values.atMost(VALUE),
                        slopes.atMost(1),
                        patterns,
                        PlainActivations.ALL.size()));
    }

    private static void measured(
            Worst worst, String kind, double[] x, double[] actual, double[] expected, double alone) {
        for (int i = 0; i < x.length; i++) {
            float rounded = (float) expected[i];
            if (Double.isNaN(x[i])) {
                boolean relu = kind.endsWith("slope") && kind.contains(" Relu[");
                worst.see(kind, Double.isNaN(actual[i]) || relu ? 0 : Double.NaN, x[i]);
            } else if (Float.isInfinite(rounded)) {
                worst.see(kind, actual[i] == rounded ? 0 : Double.NaN, x[i]);
            } else if (actual[i] == 0 && rounded == 0 && alone == 0) { // values, not slopes, keep the sign of a zero
                worst.see(kind, sameSign(actual[i], rounded) ? 0 : Double.NaN, x[i]);
            } else {
                worst.see(kind, Math.abs(actual[i] - expected[i]) / (Math.ulp(rounded) + alone), x[i]);
            }
        }
    }

    private static boolean sameSign(double zero, double other) {
        return Math.copySign(1, zero) == Math.copySign(1, other);
    }

    @Test
    void singlePrecisionIsRoundedOnce() {
        singles(32_771);
    }

    @Test
    @Tag("soak")
    void singlePrecisionOverManyPatterns() {
        singles(257);
    }

    /** In double every function has a law of its own: {@link ExactActivations#allowance}. */
    private static void doubles(long step) {
        List<Backend> backends = List.of(
                ReferenceBackend.instance(),
                VectorBackend.float64(),
                Nd4jBackend.of(Nd4jBackend.Precision.FLOAT64, Nd4jBackend.Strategy.HOST));
        Worst values = new Worst();
        Worst slopes = new Worst();
        int count = (int) (PATTERNS / step);
        double[] x = new double[count];
        for (int i = 0; i < count; i++) { // the digits that a float does not have are those of the position
            long bits = Double.doubleToRawLongBits(Float.intBitsToFloat((int) (i * step)));
            x[i] = Double.longBitsToDouble(bits | (i * 0x9E3779B97F4A7C15L) >>> 36);
        }
        for (Activation activation : PlainActivations.ALL) {
            double[][] exact = Arrays.stream(x)
                    .mapToObj(at -> ExactActivations.of(activation, at))
                    .toArray(double[][]::new);
            for (Backend backend : backends) {
                String kind = backend.name() + " " + activation;
                double[] value = values(backend, activation, x);
                double[] slope = slopes(backend, activation, x);
                for (int i = 0; i < count; i++) {
                    if (exact[i].length > 0) {
                        double allowed = ExactActivations.allowance(activation, x[i], exact[i][0]);
                        double distance = ExactActivations.distance(value[i], exact[i], 0);
                        values.see(kind, distance == 0 ? 0 : distance / allowed, x[i]);
                        double gauge = 0x1p-53 * ExactActivations.slopeGauge(activation, x[i]) + Double.MIN_NORMAL;
                        slopes.see(kind + ", slope", ExactActivations.distance(slope[i], exact[i], 2) / gauge, x[i]);
                    }
                }
            }
        }
        Promise.measured(
                4,
                "activations in double precision",
                String.format(
                        Locale.ROOT,
                        "worst %.3f of the law of each, slopes %.3f u times their gauge; %,d numbers, 3 backends",
                        values.atMost(1),
                        slopes.atMost(6),
                        count));
    }

    @Test
    void doublePrecisionFollowsItsLaws() {
        doubles(1L << 20);
    }

    @Test
    @Tag("soak")
    void doublePrecisionOverManyNumbers() {
        doubles(1L << 13);
    }
}
