package org.moe4j.bench.layer;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.layer.LayerCase.Numbers;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.layer.MoePass;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.testing.Promise;
import org.moe4j.core.vector.VectorBackend;

/**
 * A row of a whole layer on {@code VectorBackend} has the same bits whatever batch it comes in, output and gradient of the input alike:
 * routers without a capacity and without losses, for those see the whole batch.
 */
class BatchInvarianceTest {
    private static final int[] BATCHES = {1, 2, 3, 7, 8, 16, 33, 64, 257, 1024, 4096};

    /** Rows of outputs, and of gradients. */
    @SuppressWarnings("ArrayRecordComponent") // test data
    private record Rows(double[] output, double[] gradient) {}

    private static Rows run(LayerCase c, MoeLayer layer, VectorBackend backend) {
        try (Matrix tokens = c.tokens().on(backend);
                Matrix dOutput = c.dOutput().on(backend);
                MoePass pass = layer.forward(tokens);
                Matrix output = pass.output();
                Matrix apply = layer.apply(tokens);
                Gradients gradients = pass.backward(dOutput)) {
            double[] forward = output.toArray();
            assertThat(apply.toArray()).isEqualTo(forward);
            return new Rows(forward, gradients.input().toArray());
        }
    }

    private static Numbers rows(Numbers all, int[] of) {
        int columns = all.columns();
        double[] values = new double[of.length * columns];
        for (int i = 0; i < of.length; i++) {
            System.arraycopy(all.values(), of[i] * columns, values, i * columns, columns);
        }
        return new Numbers(of.length, columns, values);
    }

    private static long differing(double[] part, double[] all, int[] of, int columns) {
        long differing = 0;
        for (int i = 0; i < of.length; i++) {
            for (int d = 0; d < columns; d++) {
                differing += Double.doubleToLongBits(part[i * columns + d])
                                == Double.doubleToLongBits(all[of[i] * columns + d])
                        ? 0
                        : 1;
            }
        }
        return differing;
    }

    private static int[] shuffled(SplittableRandom random, int count) {
        int[] order = new int[count];
        for (int i = 0; i < count; i++) {
            int at = random.nextInt(i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        return order;
    }

    /** A layer whose router sees tokens alone, for many rows. */
    private static LayerCase independent(long seed, int rows) {
        LayerCase drawn = LayerDraw.of(seed, 8, 30, new int[1]);
        LayerCase bare = drawn.bare(drawn.router().with(ChoosingWords.TOP_K));
        SplittableRandom random = new SplittableRandom(seed);
        int hidden = bare.sizes().hidden();
        return bare.with(LayerDraw.normal(random, rows, hidden, 1), LayerDraw.normal(random, rows, hidden, 1));
    }

    private static void check(int rows, List<VectorBackend> backends, int seeds) {
        long elements = 0;
        int[] batches = Arrays.stream(BATCHES)
                .map(batch -> Math.min(batch, rows))
                .distinct()
                .toArray();
        int largest = batches[batches.length - 1];
        List<String> differences = new ArrayList<>();
        for (long seed = 2; seed < 2 + seeds; seed++) {
            LayerCase c = independent(seed, rows);
            for (VectorBackend backend : backends) {
                try (MoeLayer layer = LibraryLayer.of(c, backend)) {
                    Rows whole = run(c, layer, backend);
                    SplittableRandom random = new SplittableRandom(seed);
                    for (int batch : batches) {
                        int[] order = shuffled(random, rows);
                        long differing = 0;
                        for (int from = 0; from < rows; from += batch) {
                            int[] of = Arrays.copyOfRange(order, from, Math.min(rows, from + batch));
                            LayerCase part = c.with(rows(c.tokens(), of), rows(c.dOutput(), of));
                            Rows some = run(part, layer, backend);
                            int hidden = c.sizes().hidden();
                            differing += differing(some.output(), whole.output(), of, hidden);
                            differing += differing(some.gradient(), whole.gradient(), of, hidden);
                            elements += 2L * of.length * hidden;
                        }
                        if (differing > 0) {
                            differences.add(differing + " elements in batches of " + batch + " of " + c);
                        }
                    }
                }
            }
        }
        assertThat(differences).isEmpty();
        Promise.measured(
                14,
                String.format(Locale.ROOT, "rows in batches of 1 to %,d", largest),
                String.format(
                        Locale.ROOT,
                        "0 of %,d elements differ; %,d rows, %d batch sizes, %d layers, rows in any order",
                        elements,
                        rows,
                        batches.length,
                        seeds * backends.size()));
    }

    @Test
    void aRowHasItsBitsInAnyBatchAndOrder() {
        check(1_000, List.of(VectorBackend.float32(), VectorBackend.float64()), 3);
    }

    @Test
    @Tag("soak")
    void tenThousandRowsHaveTheirBits() {
        check(10_000, List.of(VectorBackend.float32(), VectorBackend.float64()), 11);
    }
}
