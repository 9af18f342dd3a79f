package org.moe4j.checkpoint.safetensors;

import java.nio.ByteBuffer;
import java.util.EnumSet;
import java.util.Set;
import org.moe4j.core.backend.RowSource;
import org.moe4j.core.internal.Require;

/** The numbers of rows as bytes of a floating-point type; asked for from the first to the last. */
final class RowBytes implements TensorContent.Source {
    private static final Set<ElementType> TYPES =
            EnumSet.of(ElementType.F64, ElementType.F32, ElementType.F16, ElementType.BF16);

    private final ElementType type;
    private final RowSource rows;
    private final float[] floats;
    private final double[] doubles;
    private long row = -1;

    RowBytes(ElementType type, int columns, RowSource rows) {
        require(type);
        this.type = type;
        this.rows = rows;
        floats = new float[type == ElementType.F32 ? columns : 0];
        doubles = new double[type == ElementType.F32 ? 0 : columns];
    }

    static void require(ElementType type) {
        if (!TYPES.contains(type)) {
            throw Require.expected("type", "one of " + TYPES, type);
        }
    }

    @Override
    public void write(long from, int count, ByteBuffer into) {
        TensorContent.Source.check(type, from, count, into);
        int columns = floats.length + doubles.length;
        if (count > 0 && (columns == 0 || (from + count - 1) / columns > Integer.MAX_VALUE)) {
            throw Require.expected("from", "numbers of rows of " + columns, from + " and " + count + " more");
        }
        for (long i = from; i < from + count; i++) {
            if (i / columns != row) {
                row = i / columns;
                if (type == ElementType.F32) {
                    rows.read((int) row, floats);
                } else {
                    rows.read((int) row, doubles);
                }
            }
            put((int) (i % columns), into);
        }
    }

    private void put(int column, ByteBuffer into) {
        if (type == ElementType.F32) {
            into.putFloat(floats[column]);
        } else {
            NumberBytes.put(type, doubles[column], into);
        }
    }
}
