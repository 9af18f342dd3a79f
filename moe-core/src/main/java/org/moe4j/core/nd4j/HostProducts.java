package org.moe4j.core.nd4j;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntConsumer;
import org.moe4j.core.backend.RowGroups;
import org.moe4j.core.host.Workers;

/** Products of all groups at once, cut into tiles that run in parallel, each on one OpenBLAS thread. */
final class HostProducts {
    private final Workers workers;
    private final HostGemm gemm;

    HostProducts(Elements elements, Blas blas, Workers workers) {
        this.workers = workers;
        this.gemm = new HostGemm(elements, blas, blas.hasSmallKernels());
    }

    HostGemm gemm() {
        return gemm;
    }

    /** Runs tasks with products in them. */
    void run(int tasks, long estimatedNanos, IntConsumer task) {
        if (tasks > 0) {
            OpenBlas.onOneThreadEach(() -> workers.forEach(tasks, estimatedNanos, task));
        }
    }

    /** {@code y = x · w_g} for the rows of each group; x and y row-major, their strides are their columns. */
    void grouped(RowGroups groups, Operand x, List<NativeBuffer> w, boolean transposed, Operand y) {
        int inner = x.stride();
        int columns = y.stride();
        List<Tile> tiles = Tile.of(groups, columns);
        run(tiles.size(), Cost.product(groups.rows(), columns, inner, w.size()), t -> {
            Tile tile = tiles.get(t);
            Operand right = new Operand(w.get(tile.group()), 0, transposed ? inner : columns, transposed);
            rowMajor(tile, List.of(new HostGemm.Term(inner, x.fromRow(tile.groupFrom()), right)), y);
        });
    }

    /** {@code y = Σ_i x_i · w_i} for one tile; y row-major, from the first of all rows on. */
    void rowMajor(Tile tile, List<HostGemm.Term> terms, Operand y) {
        List<HostGemm.Term> parts = terms.stream()
                .map(term -> new HostGemm.Term(
                        term.inner(), term.x().fromRow(tile.row()), term.w().fromColumn(tile.column())))
                .toList();
        gemm.rowMajor(
                tile.rows(), tile.columns(), parts, y.fromRow(tile.firstRow()).fromColumn(tile.column()));
    }

    /** {@code y_g = aᵀ · b (+ y_g)} over the rows of each group that has any and has a y; row-major, strides are columns. */
    void groupedTransA(RowGroups groups, Operand a, Operand b, boolean add, Map<Integer, NativeBuffer> y) {
        int rows = a.stride();
        int columns = b.stride();
        List<Tile> tiles = Tile.ofGradient(groups, columns == 0 ? 0 : rows, y.keySet());
        run(tiles.size(), Cost.product(groups.rows(), columns, rows, groups.count()), t -> {
            Tile tile = tiles.get(t);
            Operand target = Operand.of(Objects.requireNonNull(y.get(tile.group())), 0, columns);
            gradient(tile, columns, a.fromRow(tile.groupFrom()), b.fromRow(tile.groupFrom()), add, target);
        });
    }

    /** {@code y[rows of the tile] = aᵀ[rows of the tile] · b (+ y)}, summed over the rows of the group. */
    void gradient(Tile tile, int columns, Operand a, Operand b, boolean add, Operand y) {
        Operand rows = a.flipped().fromRow(tile.row());
        gemm.gradient(tile.rows(), columns, tile.groupRows(), rows, b, add, y.fromRow(tile.row()));
    }
}
