package org.moe4j.checkpoint.trace;

import java.io.IOException;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import org.moe4j.checkpoint.safetensors.ElementType;
import org.moe4j.checkpoint.safetensors.SafetensorsFile;
import org.moe4j.checkpoint.safetensors.StoredTensor;

/** Files of one mark for each token. */
final class MaskFile {
    private static final int PIECE = 4096;

    private MaskFile() {}

    /** The rows with a 1, of so many. */
    static KeptRows read(Path file, long rows) throws IOException {
        StoredTensor tensor = tensor(file);
        ElementType type = tensor.info().type();
        String part = tensor.info().name();
        if (type != ElementType.BOOL && !TraceFormat.INTEGERS.contains(type)) {
            throw TraceFormat.wrong(file, part, "BOOL or one of " + TraceFormat.INTEGERS, type);
        }
        if (!tensor.info().shape().equals(List.of(rows))) {
            throw TraceFormat.wrong(
                    file,
                    part,
                    "shape [" + rows + "] (tokens of the trace)",
                    tensor.info().shape());
        }
        if (rows > Integer.MAX_VALUE) {
            throw TraceFormat.wrong(file, part, "at most 2^31 - 1 tokens with a mask", rows);
        }
        return KeptRows.of(marks(file, tensor, (int) rows), (int) rows);
    }

    private static StoredTensor tensor(Path file) throws IOException {
        if (NumpyFile.is(file)) {
            return NumpyFile.open(file);
        }
        try (SafetensorsFile opened = SafetensorsFile.open(file)) {
            return opened.tensor(TraceFormat.MASK);
        }
    }

    private static BitSet marks(Path file, StoredTensor tensor, int rows) throws IOException {
        BitSet marks = new BitSet(rows);
        int[] piece = new int[PIECE];
        for (int from = 0; from < rows; from += PIECE) {
            int count = Math.min(PIECE, rows - from);
            tensor.read(from, piece, 0, count);
            for (int i = 0; i < count; i++) {
                if (piece[i] == 1) {
                    marks.set(from + i);
                } else if (piece[i] != 0) {
                    throw TraceFormat.wrong(
                            file, tensor.info().name(), "marks 0 or 1", piece[i] + " for token " + (from + i));
                }
            }
        }
        return marks;
    }
}
