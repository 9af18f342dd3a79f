package org.moe4j.core.nd4j;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.moe4j.core.backend.Matrix;

/** What a kernel holds while it runs: its arguments, and scratch. */
final class Lease implements AutoCloseable {
    private final List<Held> held = new ArrayList<>();

    /** The buffer of an argument, which must be an open matrix. */
    NativeBuffer of(Matrix matrix) {
        return keep(((HostMatrix) matrix).retainBuffer());
    }

    /** The buffers of several arguments. */
    List<NativeBuffer> of(List<Matrix> matrices) {
        List<NativeBuffer> buffers = new ArrayList<>(matrices.size());
        matrices.forEach(matrix -> buffers.add(of(matrix)));
        return buffers;
    }

    /** The buffers of several arguments, under the same keys. */
    Map<Integer, NativeBuffer> of(Map<Integer, Matrix> matrices) {
        Map<Integer, NativeBuffer> buffers = new HashMap<>();
        matrices.forEach((key, matrix) -> buffers.put(key, of(matrix)));
        return buffers;
    }

    /** The matrices of a list by their indices. */
    static Map<Integer, Matrix> byIndex(List<Matrix> matrices) {
        Map<Integer, Matrix> map = new HashMap<>();
        for (int i = 0; i < matrices.size(); i++) {
            map.put(i, matrices.get(i));
        }
        return map;
    }

    /** Memory that ends with the lease. */
    NativeBuffer scratch(long bytes) {
        return keep(NativeBuffer.allocate(bytes, false));
    }

    /** Something that is held by somebody else for longer than this. */
    void share(Held one) {
        if (!one.retain()) {
            throw new IllegalStateException("memory: expected it to be held but was released");
        }
        note(one);
    }

    private NativeBuffer keep(NativeBuffer buffer) {
        note(buffer);
        return buffer;
    }

    private void note(Held one) {
        try {
            held.add(one);
        } catch (OutOfMemoryError full) {
            one.release(false);
            throw full;
        }
    }

    /** Everything held so far, held once more for the time after the lease. */
    Bundle keepAll() {
        Bundle bundle = new Bundle(held); // first, as the Java heap may be full
        for (int i = 0; i < held.size(); i++) {
            held.get(i).retain(); // succeeds, because the lease holds it
        }
        return bundle;
    }

    @Override
    public void close() {
        for (int i = 0; i < held.size(); i++) { // without an iterator: the Java heap may be full
            held.get(i).release(false);
        }
        held.clear();
    }
}
