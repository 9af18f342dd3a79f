package org.moe4j.bench.peers;

import org.moe4j.core.backend.Backend;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.vector.VectorBackend;
import org.moe4j.core.vector.WeightStorage;

/** Our backends beside the peers. */
public enum OwnBackend {
    /** Java's Vector API, weights in single precision. */
    VECTOR("vector", "float32") {
        @Override
        Backend backend(int threads) {
            return VectorBackend.float32().withStorage(WeightStorage.FULL).withWorkers(threads);
        }
    },
    /** Java's Vector API, weights kept as the bfloat16 numbers that they are; sums in single precision. */
    VECTOR_BFLOAT16("vector", "bfloat16") {
        @Override
        Backend backend(int threads) {
            return VectorBackend.float32().withStorage(WeightStorage.EXACT).withWorkers(threads);
        }
    },
    /** OpenBLAS in single precision. */
    ND4J("nd4j", "float32") {
        @Override
        Backend backend(int threads) {
            return Nd4jBackend.float32().withWorkers(threads);
        }
    };

    private final String id;
    private final String storage;

    OwnBackend(String id, String storage) {
        this.id = id;
        this.storage = storage;
    }

    /**
     * The backend of a name.
     *
     * @param name {@code vector}, {@code vector-bf16} or {@code nd4j}
     * @return with the weights of that name
     */
    public static OwnBackend named(String name) {
        return switch (name) {
            case "vector" -> VECTOR;
            case "vector-bf16" -> VECTOR_BFLOAT16;
            case "nd4j" -> ND4J;
            default ->
                throw new IllegalArgumentException("backend: expected vector, vector-bf16 or nd4j but was " + name);
        };
    }

    abstract Backend backend(int threads);

    /** Name in the table. */
    String id() {
        return id;
    }

    /** The type of the weights: float32 or bfloat16. */
    String storage() {
        return storage;
    }

    /** Whether this JVM has what it needs. */
    boolean isAvailable() {
        return this == ND4J || VectorBackend.isAvailable();
    }

    @Override
    public String toString() {
        return id + " " + storage;
    }
}
