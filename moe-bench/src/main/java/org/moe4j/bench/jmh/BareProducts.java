package org.moe4j.bench.jmh;

import static org.bytedeco.openblas.global.openblas_nolapack.CblasNoTrans;
import static org.bytedeco.openblas.global.openblas_nolapack.CblasRowMajor;
import static org.bytedeco.openblas.global.openblas_nolapack.CblasTrans;
import static org.bytedeco.openblas.global.openblas_nolapack.blas_set_num_threads;
import static org.bytedeco.openblas.global.openblas_nolapack.cblas_sgemm;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.bytedeco.javacpp.FloatPointer;
import org.moe4j.core.expert.ExpertShape;

/** The three products of each expert that has rows, and nothing else, on weights and rows of its own. */
final class BareProducts implements AutoCloseable {
    private static final int THREADS = 2;

    /** Weights (F×D, F×D, D×F), rows (n×D), results (n×F, n×F, n×D). */
    private record Expert(
            int rows,
            FloatPointer gate,
            FloatPointer up,
            FloatPointer down,
            FloatPointer x,
            FloatPointer g,
            FloatPointer u,
            FloatPointer y) {}

    private final int hidden;
    private final int width;
    private final List<Expert> experts = new ArrayList<>();
    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS - 1, task -> {
        Thread thread = new Thread(task, "bare-products");
        thread.setDaemon(true);
        return thread;
    });

    BareProducts(ExpertShape shape, int[] rowsPerExpert) {
        hidden = shape.hiddenSize();
        width = shape.intermediateSize();
        long weights = (long) hidden * width;
        for (int rows : rowsPerExpert) {
            if (rows > 0) {
                experts.add(new Expert(
                        rows,
                        filled(weights),
                        filled(weights),
                        filled(weights),
                        filled((long) rows * hidden),
                        filled((long) rows * width),
                        filled((long) rows * width),
                        filled((long) rows * hidden)));
            }
        }
    }

    /** Multiples of 1/64 below 1: products are exact in float for short sums, so that {@link #check} can be exact. */
    private static FloatPointer filled(long count) {
        FloatPointer pointer = new FloatPointer(count);
        for (long i = 0; i < count; i++) {
            pointer.put(i, (((i * 2654435761L) >>> 7) & 31) / 64f);
        }
        return pointer;
    }

    /** One element of one product, by its definition. */
    void check() {
        run(false);
        Expert first = experts.get(0);
        double expected = 0;
        for (int k = 0; k < hidden; k++) {
            expected += (double) first.x.get(k) * first.gate.get(k);
        }
        if (Math.abs(first.g.get(0) - expected) > 2 * Math.sqrt(hidden) * 0x1p-24 * expected) {
            throw new IllegalStateException("product: expected " + expected + " but was " + first.g.get(0));
        }
    }

    private void run(Expert e, boolean blocks) {
        product(e.rows, width, hidden, e.x, e.gate, e.g, blocks);
        product(e.rows, width, hidden, e.x, e.up, e.u, blocks);
        product(e.rows, hidden, width, e.g, e.down, e.y, blocks);
    }

    /**
     * {@code y = x · wᵀ} with x (rows×in), w (out×in): in one call, or in the blocks of w that OpenBLAS computes fastest (few
     * rows: so small that it does not pack w first; many: 512 columns of the transposed result).
     */
    private static void product(
            int rows, int out, int in, FloatPointer x, FloatPointer w, FloatPointer y, boolean blocks) {
        if (!blocks) {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out, in, 1f, x, in, w, in, 0f, y, out);
            return;
        }
        int step = rows < 32 ? Math.max(8, Math.min(512, 500_000 / (rows * in))) : 512;
        for (int from = 0; from < out; from += step) {
            int columns = Math.min(step, out - from);
            FloatPointer part = w.getPointer((long) from * in);
            FloatPointer into = y.getPointer((long) from * rows);
            cblas_sgemm(
                    CblasRowMajor, CblasNoTrans, CblasTrans, columns, rows, in, 1f, part, in, x, in, 0f, into, rows);
        }
    }

    /** All products, on two threads of one OpenBLAS thread each. */
    void run(boolean blocks) {
        blas_set_num_threads(1);
        AtomicInteger next = new AtomicInteger();
        Runnable work = () -> {
            for (int i = next.getAndIncrement(); i < experts.size(); i = next.getAndIncrement()) {
                run(experts.get(i), blocks);
            }
        };
        Future<?> other = threads.submit(work);
        work.run();
        try {
            other.get();
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException("bare products: expected to finish", e);
        }
    }

    @Override
    public void close() {
        threads.shutdown();
        for (Expert e : experts) {
            List.of(e.gate, e.up, e.down, e.x, e.g, e.u, e.y).forEach(FloatPointer::close);
        }
    }
}
