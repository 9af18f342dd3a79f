package org.moe4j.core.vector;

import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.moe4j.core.host.Verdict;
import org.moe4j.core.vector.tile.Shapes;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compares the kernels with scalar loops of {@link Math#fma}, bit for bit: every shape and storage. As every kernel is
 * called, their classes are loaded and linked when the first backend is made.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class SelfCheck<A> {
    private static final Logger LOG = LoggerFactory.getLogger(SelfCheck.class);
    private static final Verdict VERDICT = new Verdict(() -> said(all()));
    private static final int INNER = 17; // more than any kernel takes at once
    private static final long SEED = 20;

    private final Numbers<A> numbers;
    private final SplittableRandom random = new SplittableRandom(SEED);

    SelfCheck(Numbers<A> numbers) {
        this.numbers = numbers;
    }

    /** What is wrong in this JVM, checked when it is first asked for; empty when nothing is. */
    static Optional<String> fault() {
        return VERDICT.fault();
    }

    private static Optional<String> said(Optional<String> fault) {
        fault.ifPresent(what -> LOG.warn("{}", warning(what)));
        return fault;
    }

    static String warning(String fault) {
        return "VectorBackend is not used: its kernels are wrong here (" + fault + "), on " + Vectors.machine()
                + "; use another JDK, or nd4j, which Backends.best() takes where its natives are, and report this line";
    }

    private static Optional<String> all() {
        SelfCheck<float[]> floats = new SelfCheck<>(FloatNumbers.INSTANCE);
        SelfCheck<double[]> doubles = new SelfCheck<>(DoubleNumbers.INSTANCE);
        return floats.multiplies("float32", floats.plain())
                .or(() -> floats.multiplies("bfloat16", floats.halves(true)))
                .or(() -> floats.multiplies("float16", floats.halves(false)))
                .or(() -> floats.adds("float32"))
                .or(() -> floats.goesThrough("float32", floats.plain()))
                .or(() -> floats.goesThrough("bfloat16", floats.halves(true)))
                .or(() -> floats.goesThrough("float16", floats.halves(false)))
                .or(() -> doubles.multiplies("float64", doubles.plain()))
                .or(() -> doubles.adds("float64"))
                .or(() -> doubles.goesThrough("float64", doubles.plain()));
    }

    private A drawn(int length) {
        A values = numbers.array(length);
        for (int i = 0; i < length; i++) {
            numbers.set(values, i, 2 * random.nextDouble() - 1);
        }
        return values;
    }

    private int outputs() {
        return Shapes.MOST_PANELS * numbers.panel();
    }

    Panels<A> plain() {
        A w = drawn(outputs() * INNER);
        return Packing.plain(numbers, INNER, outputs(), o -> new Packing.Row<>(w, o * INNER));
    }

    /** Multiples of 2⁻⁸ below 1 are bfloat16 and binary16; some of them are made small, where binary16 has subnormal numbers. */
    Panels<float[]> halves(boolean bfloat16) {
        float[] w = new float[outputs() * INNER];
        for (int i = 0; i < w.length; i++) {
            w[i] = (random.nextInt(511) - 255) * (i % 3 == 0 ? 0x1p-22f : 0x1p-8f);
        }
        return Packing.halves(bfloat16, INNER, outputs(), o -> new Packing.Row<>(w, o * INNER));
    }

    private interface Shape {
        Optional<String> check(int rows, int panels);
    }

    private static Optional<String> shapes(Shape shape) {
        for (int rows = 1; rows <= Shapes.ROWS; rows *= 2) {
            Optional<String> fault = shape.check(rows, 1);
            int most = Shapes.panels(rows, Shapes.MOST_PANELS);
            if (fault.isEmpty() && most > 1) {
                fault = shape.check(rows, most);
            }
            if (fault.isPresent()) {
                return fault;
            }
        }
        return Optional.empty();
    }

    Optional<String> multiplies(String storage, Panels<A> w) {
        return shapes((rows, panels) -> {
            A x = drawn(INNER * rows);
            A y = numbers.array(rows * panels * numbers.panel());
            A expected = numbers.array(numbers.length(y));
            w.multiply(rows, x, 0, 0, panels, y, 0, panels * numbers.panel());
            scalar(rows, panels, x, w, expected);
            return difference(storage, rows, panels, y, expected);
        });
    }

    private Optional<String> adds(String storage) {
        int p = numbers.panel();
        A values = drawn(outputs() * INNER);
        Panels<A> w = new PlainPanels<>(numbers, values, INNER, Shapes.MOST_PANELS);
        return shapes((rows, panels) -> {
            A x = drawn(INNER * rows);
            A y = drawn(rows * panels * p);
            A expected = numbers.array(numbers.length(y));
            numbers.copy(y, 0, expected, 0, numbers.length(y));
            Numbers.Tile shape = new Numbers.Tile(rows, panels, INNER, INNER * p);
            numbers.tile(shape, x, 0, rows, values, 0, p, y, 0, panels * p);
            scalar(rows, panels, x, w, expected);
            return difference(storage + " added", rows, panels, y, expected);
        });
    }

    /** The products the other way, of as many terms as every kernel takes. */
    Optional<String> goesThrough(String storage, Panels<A> w) {
        int p = numbers.panel();
        int outputs = outputs();
        List<ColumnRun> order = ColumnRun.order(outputs, p, 1, numbers.piece());
        for (int rows = 1; rows <= p; rows += p - 1) { // one vector of rows, and two
            A d = drawn(rows * outputs);
            A y = numbers.array(rows * w.inner());
            new InputGradient<>(numbers, w, order, outputs).run(d, 0, rows, 0, w.inner(), y, 0);
            A expected = numbers.array(rows * w.inner());
            for (int row = 0; row < rows; row++) {
                for (int k = 0; k < w.inner(); k++) {
                    numbers.set(expected, row * w.inner() + k, through(w, k, d, row * outputs));
                }
            }
            Optional<String> fault = difference(storage + " gradients", rows, w.count(), y, expected);
            if (fault.isPresent()) {
                return fault;
            }
        }
        return Optional.empty();
    }

    private double through(Panels<A> w, int k, A d, int dAt) {
        int p = numbers.panel();
        A sum = numbers.array(1);
        A term = numbers.array(1);
        for (int o = 0; o < outputs(); o++) {
            numbers.set(term, 0, w.get(o / p, k, o % p));
            numbers.addScaled(numbers.get(d, dAt + o), term, 0, sum, 0, 1);
        }
        return numbers.get(sum, 0);
    }

    /** {@code y = fma(x, w, y)} for one term after another. */
    private void scalar(int rows, int panels, A x, Panels<A> w, A y) {
        int p = numbers.panel();
        A terms = numbers.array(p);
        for (int panel = 0; panel < panels; panel++) {
            for (int k = 0; k < INNER; k++) {
                for (int c = 0; c < p; c++) {
                    numbers.set(terms, c, w.get(panel, k, c));
                }
                for (int m = 0; m < rows; m++) {
                    numbers.addScaled(numbers.get(x, k * rows + m), terms, 0, y, (m * panels + panel) * p, p);
                }
            }
        }
    }

    private Optional<String> difference(String storage, int rows, int panels, A actual, A expected) {
        for (int i = 0; i < numbers.length(expected); i++) {
            if (Double.compare(numbers.get(actual, i), numbers.get(expected, i)) != 0) {
                return Optional.of(storage + ", " + rows + " rows, " + panels + " panels: expected "
                        + numbers.get(expected, i) + " but was " + numbers.get(actual, i));
            }
        }
        return Optional.empty();
    }
}
