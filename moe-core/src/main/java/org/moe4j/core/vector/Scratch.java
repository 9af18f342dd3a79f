package org.moe4j.core.vector;

import org.moe4j.core.host.ActivationLoops;
import org.moe4j.core.vector.tile.Shapes;

/**
 * Arrays of one thread, which grow to what its largest task needs and stay.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
final class Scratch<A> {
    private static final ThreadLocal<Scratch<float[]>> FLOATS =
            ThreadLocal.withInitial(() -> new Scratch<>(FloatNumbers.INSTANCE));
    private static final ThreadLocal<Scratch<double[]>> DOUBLES =
            ThreadLocal.withInitial(() -> new Scratch<>(DoubleNumbers.INSTANCE));

    private static final int MOST_OUTPUTS = 1 << 20;

    private final Numbers<A> numbers;
    private A x;
    private A hidden;
    private A weights;
    private A outputs;
    private A ordered;

    /** What a kernel writes: rows of all its panels. */
    final A tile;

    final ActivationLoops loops;
    final double[] gate = new double[ActivationLoops.TILE];
    final double[] up = new double[ActivationLoops.TILE];
    final double[] d = new double[ActivationLoops.TILE];

    private Scratch(Numbers<A> numbers) {
        this.numbers = numbers;
        x = numbers.array(0);
        hidden = numbers.array(0);
        weights = numbers.array(0);
        outputs = numbers.array(0);
        ordered = numbers.array(0);
        tile = numbers.array(Shapes.ROWS * Shapes.MOST_PANELS * numbers.panel());
        loops = new ActivationLoops(numbers::logistic);
    }

    @SuppressWarnings("unchecked")
    static <A> Scratch<A> of(Numbers<A> numbers) {
        return (Scratch<A>) (numbers == FloatNumbers.INSTANCE ? FLOATS.get() : DOUBLES.get());
    }

    private A room(A own, int length) {
        return numbers.length(own) >= length ? own : numbers.array(length);
    }

    /** Packed rows that a kernel reads. */
    A x(int length) {
        x = room(x, length);
        return x;
    }

    /** Packed rows between two kernels. */
    A hidden(int length) {
        hidden = room(hidden, length);
        return hidden;
    }

    /** Zeros for rows that experts write; more than a few are not kept. */
    A outputs(int length) {
        if (length > MOST_OUTPUTS) {
            return numbers.array(length);
        }
        outputs = room(outputs, length);
        numbers.fill(outputs, 0, length, 0);
        return outputs;
    }

    /** A part of a weight matrix in another order. */
    A weights(int length) {
        weights = room(weights, length);
        return weights;
    }

    /** Rows whose columns are in another order. */
    A ordered(int length) {
        ordered = room(ordered, length);
        return ordered;
    }
}
