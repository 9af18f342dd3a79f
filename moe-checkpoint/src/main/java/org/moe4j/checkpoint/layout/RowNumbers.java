package org.moe4j.checkpoint.layout;

import java.util.Optional;
import java.util.function.Supplier;
import org.moe4j.checkpoint.safetensors.Numbers;
import org.moe4j.core.backend.RowSource;

/** The numbers of rows, asked for from the first to the last; what the rows hold on to is given up after these. */
final class RowNumbers implements Numbers {
    private final Supplier<RowSource> source;
    private final double[] row;
    private final long all;
    private Optional<RowSource> rows = Optional.empty();
    private long index = -1;

    RowNumbers(Supplier<RowSource> source, int columns, long all) {
        this.source = source;
        this.all = all;
        row = new double[columns];
    }

    @Override
    public void read(long from, double[] into, int at, int count) {
        RowSource open = rows.orElseGet(source);
        rows = from + count < all ? Optional.of(open) : Optional.empty();
        for (int i = 0; i < count; i++) {
            long wanted = (from + i) / row.length;
            if (wanted != index) {
                open.read(Math.toIntExact(wanted), row);
                index = wanted;
            }
            into[at + i] = row[(int) ((from + i) % row.length)];
        }
    }
}
