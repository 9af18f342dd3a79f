package org.moe4j.core.nd4j;

import org.jspecify.annotations.Nullable;
import org.moe4j.core.backend.Activation;
import org.moe4j.core.backend.Projections;
import org.moe4j.core.host.ActivationLoops;
import org.moe4j.core.host.Sigmoid;

/** Activations on stretches of native memory, in double whatever the precision of the memory, and rounded once. */
final class HostActivations {
    private final Elements elements;
    private final ThreadLocal<Tiles> tiles;

    HostActivations(Elements elements) {
        this.elements = elements;
        ActivationLoops.Logistic logistic =
                elements.bytes() == Float.BYTES ? Sigmoid::approximate : HostActivations::exact;
        tiles = ThreadLocal.withInitial(() -> new Tiles(logistic));
    }

    private static final class Tiles {
        final ActivationLoops loops;
        final double[] gate = new double[ActivationLoops.TILE];
        final double[] up = new double[ActivationLoops.TILE];
        final double[] d = new double[ActivationLoops.TILE];

        Tiles(ActivationLoops.Logistic logistic) {
            loops = new ActivationLoops(logistic);
        }
    }

    private static void exact(double[] x, double[] y, int count) {
        for (int i = 0; i < count; i++) {
            y[i] = 1 / (1 + Math.exp(-x[i]));
        }
    }

    /** Where matching elements of the operands begin; a gate exactly with gated activations. */
    record Stretch(@Nullable Operand gate, Operand up) {
        /** All elements of some projections, one to a stored row. */
        static Stretch of(Lease lease, Projections projections) {
            Operand up = Operand.of(lease.of(projections.up()), 0, 1);
            return projections
                    .gate()
                    .map(gate -> new Stretch(Operand.of(lease.of(gate), 0, 1), up))
                    .orElseGet(() -> new Stretch(null, up));
        }

        /** The same from a stored row on. */
        Stretch storedRow(long row) {
            return new Stretch(gate == null ? null : gate.storedRow(row), up.storedRow(row));
        }

        Operand gateOrThrow() {
            if (gate == null) {
                throw new IllegalStateException("activation: expected a gate but was none");
            }
            return gate;
        }
    }

    /** {@code y = a(gate, up)} or {@code a(up)}; y may be gate or up. */
    void forward(Activation activation, Stretch from, Operand y, int count) {
        Tiles t = tiles.get();
        for (int done = 0; done < count; done += ActivationLoops.TILE) {
            int part = Math.min(ActivationLoops.TILE, count - done);
            read(from.up(), done, t.up, part);
            if (activation instanceof Activation.Gated gated) {
                read(from.gateOrThrow(), done, t.gate, part);
                t.loops.forward(gated, t.gate, t.up, part);
            } else if (activation instanceof Activation.Plain plain) {
                t.loops.forward(plain, t.up, part);
            }
            write(y, done, t.up, part);
        }
    }

    /** The gradients of gate and up from that of the result; they may take the places of gate and up. */
    void backward(Activation activation, Stretch from, Operand d, Stretch to, int count) {
        Tiles t = tiles.get();
        for (int done = 0; done < count; done += ActivationLoops.TILE) {
            int part = Math.min(ActivationLoops.TILE, count - done);
            read(from.up(), done, t.up, part);
            read(d, done, t.d, part);
            if (activation instanceof Activation.Gated gated) {
                read(from.gateOrThrow(), done, t.gate, part);
                t.loops.backward(gated, t.gate, t.up, t.d, part);
                write(to.gateOrThrow(), done, t.gate, part);
            } else if (activation instanceof Activation.Plain plain) {
                t.loops.backward(plain, t.up, t.d, part);
            }
            write(to.up(), done, t.up, part);
        }
    }

    private void read(Operand from, long offset, double[] into, int count) {
        elements.read(from.buffer().block(), from.at() + offset, into, 0, count);
    }

    private void write(Operand to, long offset, double[] values, int count) {
        elements.write(to.buffer().block(), to.at() + offset, values, 0, count);
    }
}
