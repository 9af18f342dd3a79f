package org.moe4j.core.vector;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.moe4j.core.vector.tile.Shapes;

/**
 * Calls every kernel of a kind of panels until the JVM's compiler has made it fast, once in a process and for a bounded time, on a
 * thread of its own beside the packing of the first bank. Until it is compiled a kernel keeps vectors on the heap and takes some
 * hundred times as long, so that a run that meets a number of rows for the first time would be slow, however late.
 *
 * <p>Nothing is computed for it, and results do not depend on it.
 */
final class KernelWarming {
    private static final long MOST_NANOS = 2_000_000_000;

    /** Steps of a call: more than the compiler unrolls a loop by, and so few that it takes on the kernel and not its loop alone. */
    private static final int INNER = 48;

    private static final int CALLS = 32;

    /** Of a step with one row and one panel: ten times what it takes when compiled, and a tenth of before. */
    private static final int FAST_NANOS = 5;

    private static final Set<String> WARMED = ConcurrentHashMap.newKeySet();

    private KernelWarming() {}

    /** Warms the kernels of the panels that a packer makes, and of plain ones, which routers and single products have. */
    static <A> void start(Numbers<A> numbers, PackedBank.Packer<A> packer) {
        Panels<A> packed = sample(numbers, packer);
        Panels<A> plain = sample(numbers, Packing.packer(numbers));
        boolean first = WARMED.add(packed.kind());
        boolean firstPlain = WARMED.add(plain.kind());
        if (first || firstPlain) {
            Thread thread = new Thread(
                    () -> {
                        try {
                            warm(numbers, packed);
                            warm(numbers, plain);
                        } catch (OutOfMemoryError full) {
                            // the memory is the caller's; then the first calls are slower
                        }
                    },
                    "moe4j-warming");
            thread.setDaemon(true);
            thread.setContextClassLoader(null);
            try {
                thread.start();
            } catch (OutOfMemoryError none) {
                // likewise
            }
        }
    }

    private static <A> Panels<A> sample(Numbers<A> numbers, PackedBank.Packer<A> packer) {
        A zeros = numbers.array(INNER);
        return packer.pack(INNER, Shapes.MOST_PANELS * numbers.panel(), output -> new Packing.Row<>(zeros, 0));
    }

    private static <A> void warm(Numbers<A> numbers, Panels<A> w) {
        long start = System.nanoTime();
        while (!fast(numbers, w) && System.nanoTime() - start < MOST_NANOS) {
            Thread.onSpinWait();
        }
    }

    /** Calls all kernels, and says whether all were fast. */
    private static <A> boolean fast(Numbers<A> numbers, Panels<A> w) {
        A x = numbers.array(Shapes.ROWS * INNER);
        A y = numbers.array(Shapes.ROWS * Shapes.MOST_PANELS * numbers.panel());
        boolean fast = true;
        for (int rows = 1; rows <= Shapes.ROWS; rows *= 2) {
            int most = Shapes.panels(rows, Shapes.MOST_PANELS);
            fast &= fast(numbers, w, rows, most, x, y);
            if (most > 1) {
                fast &= fast(numbers, w, rows, 1, x, y);
            }
        }
        return fast;
    }

    private static <A> boolean fast(Numbers<A> numbers, Panels<A> w, int rows, int panels, A x, A y) {
        long start = System.nanoTime();
        for (int call = 0; call < CALLS; call++) {
            w.multiply(rows, x, 0, 0, panels, y, 0, panels * numbers.panel());
        }
        return System.nanoTime() - start < (long) CALLS * INNER * rows * panels * FAST_NANOS;
    }
}
