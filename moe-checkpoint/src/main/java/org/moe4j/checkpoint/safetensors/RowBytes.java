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
        if (!TYPES.contains(type)) {
            throw Require.expected("type", "one of " + TYPES, type);
        }
        this.type = type;
        this.rows = rows;
        floats = new float[type == ElementType.F64 ? 0 : columns];
        doubles = new double[type == ElementType.F64 ? columns : 0];
    }

    @Override
    public void write(long from, int count, ByteBuffer into) {
        int columns = floats.length + doubles.length;
        for (long i = from; i < from + count; i++) {
            if (i / columns != row) {
                row = i / columns;
                if (type == ElementType.F64) {
                    rows.read(Math.toIntExact(row), doubles);
                } else {
                    rows.read(Math.toIntExact(row), floats);
                }
            }
            put((int) (i % columns), into);
        }
    }

    private void put(int column, ByteBuffer into) {
        switch (type) {
            case F64 -> into.putDouble(doubles[column]);
            case F32 -> into.putFloat(floats[column]);
            case F16 -> into.putShort(SmallFloats.toFloat16(floats[column]));
            case BF16 -> into.putShort(SmallFloats.toBfloat16(floats[column]));
            default -> throw new IllegalStateException(type.name());
        }
    }
}
