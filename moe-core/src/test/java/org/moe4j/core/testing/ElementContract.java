package org.moe4j.core.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.backend.Projections;

/** The kernels that work element by element, each against its formula. */
abstract class ElementContract extends KernelContract {
    @ParameterizedTest(name = REPLAY)
    @MethodSource(SEEDS)
    void multiplyIsOneProductPerElement(long seed) {
        Cases cases = new Cases(seed);
        for (int columns : Cases.SIZES) {
            int rows = cases.size();
            Matrix a = cases.matrix(backend(), rows, columns);
            Matrix b = cases.matrix(backend(), rows, columns);
            double[] x = a.toArray();
            double[] y = b.toArray();
            double[] expected = new double[x.length];
            double[] tolerances = new double[x.length];
            for (int i = 0; i < x.length; i++) {
                expected[i] = x[i] * y[i];
                tolerances[i] = Tolerance.roundings(1, u(), expected[i]) * 1.01; // the definition rounds once more
            }
            Matrix product = backend().multiply(a, b);
            assertThat(product.rows()).isEqualTo(rows);
            assertThat(product.columns()).isEqualTo(columns);
            Tolerance.assertWithin("multiply", product.toArray(), expected, tolerances);
        }
    }

    @Test
    void multiplyKeepsSignsOfZeroAndSpreadsNaN() {
        double inf = Double.POSITIVE_INFINITY;
        Matrix a = backend().matrix(1, 6, new double[] {0, -3, inf, inf, Double.NaN, -0.0});
        Matrix b = backend().matrix(1, 6, new double[] {-1, 2, -1, 0, 0, -2});
        assertThat(backend().multiply(a, b).toArray()).containsExactly(-0.0, -6, -inf, Double.NaN, Double.NaN, 0);
    }

    static Stream<Arguments> activationsAndSeeds() {
        return PlainActivations.ALL.stream()
                .flatMap(activation -> Cases.seeds().mapToObj(seed -> Arguments.of(activation, seed)));
    }

    static Stream<Activation> activations() {
        return PlainActivations.ALL.stream();
    }

    @ParameterizedTest(name = "{0}, -Dmoe.seed={1}")
    @MethodSource("activationsAndSeeds")
    void activationsAndTheirAdjointsFollowTheirFormulas(Activation activation, long seed) {
        Cases cases = new Cases(seed);
        for (int columns : Cases.SIZES) {
            int rows = cases.size();
            Matrix up = wide(cases, rows, columns);
            Matrix gate = wide(cases, rows, columns);
            assertActivation(activation, gate, up, cases.matrix(backend(), rows, columns));
        }
    }

    private Matrix wide(Cases cases, int rows, int columns) {
        double[] wide = cases.doubles(rows * columns);
        Arrays.setAll(wide, i -> 8 * wide[i]);
        return backend().matrix(rows, columns, wide);
    }

    private static Projections projections(Activation activation, Matrix gate, Matrix up) {
        return activation.gated() ? Projections.of(gate, up) : Projections.of(up);
    }

    private void assertActivation(Activation activation, Matrix gate, Matrix up, Matrix dHidden) {
        Projections projections = projections(activation, gate, up);
        Projections gradients = backend().activateBackward(activation, projections, dHidden);
        assertThat(gradients.gate().isPresent()).isEqualTo(activation.gated());
        double[] y = backend().activate(activation, projections).toArray();
        double[] dUp = gradients.up().toArray();
        double[] dGate = gradients.gate().map(Matrix::toArray).orElse(new double[y.length]);
        double[] g = gate.toArray();
        double[] v = up.toArray();
        double[] d = dHidden.toArray();
        assertThat(y).hasSize(v.length);
        for (int i = 0; i < v.length; i++) {
            String at = activation + " at " + g[i] + ", " + v[i];
            double h = PlainActivations.value(activation, g[i], v[i]);
            assertNear(at, y[i], h, PlainActivations.valueGauge(activation, g[i], v[i]));
            double byUp = d[i] * PlainActivations.upSlope(activation, g[i], v[i]);
            assertNear(at + ", dUp", dUp[i], byUp, d[i] * PlainActivations.upGauge(activation, g[i], v[i]));
            double byGate = d[i] * PlainActivations.gateSlope(activation, g[i], v[i]);
            assertNear(at + ", dGate", dGate[i], byGate, d[i] * PlainActivations.gateGauge(activation, g[i], v[i]));
        }
    }

    /** Below the smallest normal number of the stored type there are no full digits left to ask for. */
    private double smallest() {
        return u() == 0x1p-24 ? Float.MIN_NORMAL : Double.MIN_NORMAL;
    }

    private void assertNear(String what, double actual, double expected, double gauge) {
        Tolerance.assertWithin(what, new double[] {actual}, new double[] {expected}, new double[] {
            Tolerance.roundings(12, u(), gauge) + smallest()
        });
    }

    @ParameterizedTest
    @MethodSource("activations")
    void activationsAreRightAtTheirBordersAndFarOut(Activation activation) {
        double[] borders = {0, -0.0, 7, -7, 2.5, -2.5, 1, -1, 7.5, -7.5, 30, -30, 1e4, 1e-30, -1e-30};
        double[] gates = new double[borders.length * borders.length];
        double[] ups = new double[gates.length];
        double[] ones = new double[gates.length];
        for (int i = 0; i < gates.length; i++) {
            gates[i] = borders[i / borders.length];
            ups[i] = borders[i % borders.length];
            ones[i] = 1;
        }
        Matrix gate = backend().matrix(borders.length, borders.length, gates);
        Matrix up = backend().matrix(borders.length, borders.length, ups);
        assertActivation(activation, gate, up, backend().matrix(borders.length, borders.length, ones));
    }

    static Stream<Arguments> steps() {
        Activation clamped = new Activation.ClampedSwiGlu(1.702, 7, 1);
        Activation open = new Activation.ClampedSwiGlu(1.702, Double.POSITIVE_INFINITY, 1);
        return Stream.of(
                Arguments.of(new Activation.SwiGlu(), 2.5, 3e38, 1e-20, 3e18 * 1.0994, 2.5e-20 * 0.92414),
                Arguments.of(new Activation.SwiGlu(), 2.5, 3.3e38, 0, 0, 0),
                Arguments.of(clamped, -3e38, 1, 1, 0, 0),
                Arguments.of(clamped, 3e38, 1, 1, 0, 7),
                Arguments.of(open, -3e38, 1, 1, 0, 0),
                Arguments.of(open, 3e38, 1, 1, 2, 3e38),
                Arguments.of(new Activation.Silu(), 0, -3e38, 1, 0, 0),
                Arguments.of(new Activation.GeluTanh(), 0, 3e38, 1, 0, 1),
                Arguments.of(new Activation.GeluExact(), 0, -3e38, 1, 0, 0),
                Arguments.of(new Activation.ReluSquared(), 0, 3e38, 1e-20, 0, 6e18),
                Arguments.of(new Activation.ReluSquared(), 0, 3e38, 0, 0, 0));
    }

    /** Close to the largest number of single precision. */
    @ParameterizedTest
    @MethodSource("steps")
    void gradientsThatAreFiniteDoNotOverflowOnTheWay(
            Activation activation, double g, double u, double d, double byGate, double byUp) {
        Matrix up = backend().matrix(1, 1, new double[] {u});
        Projections projections = projections(activation, backend().matrix(1, 1, new double[] {g}), up);
        Projections gradients =
                backend().activateBackward(activation, projections, backend().matrix(1, 1, new double[] {d}));
        assertThat(gradients.up().get(0, 0)).isCloseTo(byUp, withinPercentage(1e-2));
        gradients.gate().ifPresent(dGate -> assertThat(dGate.get(0, 0)).isCloseTo(byGate, withinPercentage(1e-2)));
    }

    @ParameterizedTest
    @MethodSource("activations")
    void whatIsNotANumberSpreads(Activation activation) {
        Matrix bad = backend().matrix(1, 2, new double[] {Double.NaN, Double.NaN});
        Matrix one = backend().matrix(1, 2, new double[] {1, 1});
        Projections projections = projections(activation, one, bad);
        assertThat(backend().activate(activation, projections).toArray()).containsExactly(Double.NaN, Double.NaN);
        if (activation.gated()) {
            Projections turned = Projections.of(bad, one);
            Projections gradients = backend().activateBackward(activation, turned, one);
            assertThat(backend().activate(activation, turned).toArray()).containsExactly(Double.NaN, Double.NaN);
            assertThat(gradients.up().toArray()).containsExactly(Double.NaN, Double.NaN);
            assertThat(gradients.gateOrThrow().toArray()).containsExactly(Double.NaN, Double.NaN);
        }
    }

    @ParameterizedTest
    @MethodSource("activations")
    void gradientsThatAreNotANumberSpreadBeyondAnyLimit(Activation activation) {
        Matrix far = backend().matrix(1, 2, new double[] {100, -100});
        Matrix bad = backend().matrix(1, 2, new double[] {Double.NaN, Double.NaN});
        Projections gradients = backend().activateBackward(activation, projections(activation, far, far), bad);
        assertThat(gradients.up().toArray()).containsExactly(Double.NaN, Double.NaN);
        gradients.gate().ifPresent(dGate -> assertThat(dGate.toArray()).containsExactly(Double.NaN, Double.NaN));
    }

    @Test
    void swiGluHasTheRightLimits() {
        double[] gate = {1e4, -1e4, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN, 0};
        Matrix up = backend().matrix(1, 6, new double[] {2, 2, 2, 2, 2, 2});
        Projections projections = Projections.of(backend().matrix(1, 6, gate), up);
        double[] y = backend().activate(new Activation.SwiGlu(), projections).toArray();
        assertThat(y).containsExactly(2e4, -0.0, Double.POSITIVE_INFINITY, -0.0, Double.NaN, 0);
        Projections d = backend().activateBackward(new Activation.SwiGlu(), projections, up);
        double[] slopes = d.gateOrThrow().toArray();
        Arrays.setAll(slopes, i -> slopes[i] + 0.0); // a slope that vanishes has either sign
        assertThat(slopes).containsExactly(4, 0, 4, 0, Double.NaN, 2);
        assertThat(d.up().toArray()).containsExactly(2e4, -0.0, Double.POSITIVE_INFINITY, -0.0, Double.NaN, 0);
    }

    /** With limit 7 a gate of +∞ is 7, an up of ±∞ is ±7. */
    @Test
    void clampedSwiGluHasTheRightLimits() {
        double inf = Double.POSITIVE_INFINITY;
        Activation clamped = new Activation.ClampedSwiGlu(1.702, 7, 1);
        Matrix gate = backend().matrix(1, 6, new double[] {-inf, -inf, inf, inf, 0, 0});
        Matrix up = backend().matrix(1, 6, new double[] {2, -inf, inf, -inf, inf, -inf});
        Matrix ones = backend().matrix(1, 6, new double[] {1, 1, 1, 1, 1, 1});
        double atLimit = 7 / (1 + StrictMath.exp(-1.702 * 7));
        double[] y = backend().activate(clamped, Projections.of(gate, up)).toArray();
        assertThat(Arrays.copyOf(y, 2)).containsExactly(-0.0, 0); // −0 · 3 and −0 · −6
        assertNear("both at their limits", y[2], 8 * atLimit, 8 * atLimit);
        assertNear("gate and −up at their limits", y[3], -6 * atLimit, 6 * atLimit);
        assertThat(Arrays.copyOfRange(y, 4, 6)).containsExactly(0, -0.0);
        Projections d = backend().activateBackward(clamped, Projections.of(gate, up), ones);
        double[] slopes = d.gateOrThrow().toArray();
        Arrays.setAll(slopes, i -> slopes[i] + 0.0); // a slope that vanishes has either sign
        assertThat(slopes).containsExactly(0, 0, 0, 0, 4, -3);
        double[] byUp = d.up().toArray();
        Arrays.setAll(byUp, i -> byUp[i] + 0.0);
        assertThat(byUp).containsExactly(0, 0, 0, 0, 0, 0);
        Matrix two = backend().matrix(1, 6, new double[] {2, 2, 2, 2, 2, 2});
        double[] within = backend()
                .activateBackward(clamped, Projections.of(gate, two), ones)
                .up()
                .toArray();
        assertThat(within[0] + 0.0).isZero();
        assertNear("slope by up, gate at its limit", within[2], atLimit, atLimit);
    }

    /** Without a limit it is as SwiGLU, with up + 1. */
    @Test
    void clampedSwiGluWithoutALimitHasTheRightLimits() {
        double inf = Double.POSITIVE_INFINITY;
        Activation open = new Activation.ClampedSwiGlu(1.702, inf, 1);
        Matrix gate = backend().matrix(1, 4, new double[] {inf, -inf, 1e4, -1e4});
        Matrix up = backend().matrix(1, 4, new double[] {2, 2, inf, 2});
        Matrix ones = backend().matrix(1, 4, new double[] {1, 1, 1, 1});
        assertThat(backend().activate(open, Projections.of(gate, up)).toArray()).containsExactly(inf, -0.0, inf, -0.0);
        Projections d = backend().activateBackward(open, Projections.of(gate, up), ones);
        double[] slopes = d.gateOrThrow().toArray();
        Arrays.setAll(slopes, i -> slopes[i] + 0.0);
        assertThat(slopes).containsExactly(3, 0, inf, 0);
        assertThat(d.up().toArray()).containsExactly(inf, -0.0, 1e4, -0.0);
    }

    @Test
    void plainActivationsHaveTheRightLimits() {
        double inf = Double.POSITIVE_INFINITY;
        Matrix up = backend().matrix(1, 6, new double[] {inf, -1e4, 1e4, 0, -inf, -0.0});
        Matrix ones = backend().matrix(1, 6, new double[] {1, 1, 1, 1, 1, 1});
        for (Activation activation :
                List.of(new Activation.GeluExact(), new Activation.GeluTanh(), new Activation.Silu())) {
            double[] y = backend().activate(activation, Projections.of(up)).toArray();
            assertThat(y).as(activation.toString()).containsExactly(inf, -0.0, 1e4, 0, -0.0, -0.0);
            double[] slopes = backend()
                    .activateBackward(activation, Projections.of(up), ones)
                    .up()
                    .toArray();
            assertThat(slopes[1] + 0.0).as(activation.toString()).isZero(); // of either sign
            assertThat(slopes[2]).as(activation.toString()).isEqualTo(1);
            assertThat(slopes[3]).as(activation.toString()).isEqualTo(0.5);
            assertThat(slopes[0]).as(activation.toString()).isEqualTo(1);
            assertThat(slopes[4] + 0.0).as(activation.toString()).isZero();
        }
        Matrix far = backend().matrix(1, 2, new double[] {inf, -inf});
        assertThat(backend()
                        .activate(new Activation.Relu(), Projections.of(far))
                        .toArray())
                .containsExactly(inf, 0);
        assertThat(backend()
                        .activate(new Activation.ReluSquared(), Projections.of(far))
                        .toArray())
                .containsExactly(inf, 0);
    }

    @Test
    void aGateThatIsMissingOrTooMuchIsRefused() {
        Matrix a = backend().matrix(1, 1, new double[1]);
        assertThatThrownBy(() -> backend().activate(new Activation.SwiGlu(), Projections.of(a)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("projections: expected gate and up (SwiGlu[]) but was up alone");
        assertThatThrownBy(() -> backend().activateBackward(new Activation.Relu(), Projections.of(a, a), a))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("projections: expected up alone (Relu[]) but was gate and up");
    }
}
