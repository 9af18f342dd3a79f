package org.moe4j.core.vector;

import java.lang.ref.SoftReference;
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

    private static final int FEW_OUTPUTS = 1 << 20;

    private final Numbers<A> numbers;
    private A x;
    private A hidden;
    private A weights;
    private A outputs;
    private SoftReference<A> manyOutputs;
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
        manyOutputs = new SoftReference<>(outputs);
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

    /** Rows that experts write. Many are kept while memory is not short: to get new memory takes longer than to fill it. */
    A outputs(int length) {
        if (length <= FEW_OUTPUTS) {
            outputs = room(outputs, length);
            return outputs;
        }
        A many = manyOutputs.get();
        if (many == null || numbers.length(many) < length) {
            many = numbers.array(length);
            manyOutputs = new SoftReference<>(many);
        }
        return many;
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
