package org.moe4j.core.nd4j;

import org.moe4j.core.internal.Require;
import org.moe4j.core.nd4j.Nd4jBackend.Precision;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;

/** What an array must be to be seen as a matrix without a copy. */
final class NdArrayChecks {
    private NdArrayChecks() {}

    static DataType type(Precision precision) {
        return precision == Precision.FLOAT32 ? DataType.FLOAT : DataType.DOUBLE;
    }

    static void matrix(INDArray array, Precision precision) {
        if (array.wasClosed()) {
            throw new IllegalStateException("array: expected an open array but was closed");
        }
        if (array.rank() != 2) {
            throw Require.expected("array", "2 dimensions", array.rank(), "reshape it");
        }
        if (array.dataType() != type(precision)) {
            throw Require.expected("array", type(precision) + " elements", array.dataType(), "convert it with castTo");
        }
        if (array.size(0) > Integer.MAX_VALUE || array.size(1) > Integer.MAX_VALUE) {
            throw Require.expected("array", "at most 2^31 - 1 rows and columns", array.shapeInfoToString());
        }
        long columns = array.size(1);
        boolean gaps = array.length() > 1
                && ((columns > 1 && array.stride(1) != 1) || (array.size(0) > 1 && array.stride(0) != columns));
        if (gaps) {
            String was = array.ordering() == 'c' ? "strided" : "'" + array.ordering() + "' order";
            throw Require.expected("array", "'c' order without gaps", was, "copy it with dup('c')");
        }
    }
}
