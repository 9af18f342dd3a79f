package org.moe4j.core.nd4j;

import java.util.ArrayList;
import java.util.List;
import org.moe4j.core.backend.Matrix;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * What a device kernel holds while it runs: its arguments, and intermediate arrays, which are closed at the end. Arrays
 * are made outside the caller's workspace, whose memory would be gone after it.
 */
final class DeviceScope implements AutoCloseable {
    private final MemoryWorkspace outside = Nd4j.getMemoryManager().scopeOutOfWorkspaces();
    private final List<Held> held = new ArrayList<>();
    private final List<INDArray> intermediate = new ArrayList<>();

    /** The array of an argument, which must be an open matrix with elements. */
    INDArray array(Matrix matrix) {
        return hold(matrix).array();
    }

    /** An argument, which must be open but may be empty. */
    DeviceBuffer hold(Matrix matrix) {
        DeviceBuffer buffer = ((DeviceMatrix) matrix).retainBuffer();
        held.add(buffer);
        return buffer;
    }

    /** An array that ends with the scope. */
    INDArray temporary(INDArray array) {
        intermediate.add(array);
        return array;
    }

    @Override
    public void close() {
        intermediate.forEach(array -> {
            if (array.closeable()) {
                array.close();
            }
        });
        held.forEach(one -> one.release(false));
        outside.close();
    }
}
