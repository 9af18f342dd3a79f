package org.moe4j.core.vector;

import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.host.ActivationLoops;
import org.moe4j.core.host.Workers;

/**
 * Activations of whole arrays, tile by tile: widened to double, computed there, and rounded once.
 *
 * @param <A> {@code float[]} or {@code double[]}
 */
record ActivationTiles<A>(Numbers<A> numbers, Workers workers) {
    private interface Tile<A> {
        void run(Scratch<A> scratch, int at, int count);
    }

    private void forEach(int count, Tile<A> tile) {
        int most = ActivationLoops.TILE;
        workers.forEach(
                (count + most - 1) / most,
                2L * count,
                i -> tile.run(Scratch.of(numbers), i * most, Math.min(most, count - i * most)));
    }

    /** Fills y; gate is there for gated activations. */
    void forward(Activation activation, @Nullable A gate, A up, A y) {
        forEach(numbers.length(y), (s, at, count) -> {
            numbers.widen(up, at, s.up, count);
            if (gate != null && activation instanceof Activation.Gated gated) {
                numbers.widen(gate, at, s.gate, count);
                s.loops.forward(gated, s.gate, s.up, count);
            } else if (activation instanceof Activation.Plain plain) {
                s.loops.forward(plain, s.up, count);
            }
            numbers.narrow(s.up, y, at, count);
        });
    }

    /** Fills dUp, and dGate of gated activations; either may be d itself. */
    void backward(Activation activation, @Nullable A gate, A up, A d, A dGate, A dUp) {
        forEach(numbers.length(dUp), (s, at, count) -> {
            numbers.widen(up, at, s.up, count);
            numbers.widen(d, at, s.d, count);
            if (gate != null && activation instanceof Activation.Gated gated) {
                numbers.widen(gate, at, s.gate, count);
                s.loops.backward(gated, s.gate, s.up, s.d, count);
                numbers.narrow(s.gate, dGate, at, count);
            } else if (activation instanceof Activation.Plain plain) {
                s.loops.backward(plain, s.up, s.d, count);
            }
            numbers.narrow(s.up, dUp, at, count);
        });
    }
}
