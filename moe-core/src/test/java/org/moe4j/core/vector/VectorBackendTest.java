package org.moe4j.core.vector;

import org.junit.jupiter.api.Nested;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.BackendContract;

class VectorBackendTest {
    @Nested
    class Float32 extends BackendContract {
        @Override
        protected Backend backend() {
            return VectorBackend.float32();
        }

        @Override
        protected Backend foreign() {
            return VectorBackend.float64();
        }
    }

    @Nested
    class Float64 extends BackendContract {
        @Override
        protected Backend backend() {
            return VectorBackend.float64();
        }

        @Override
        protected Backend foreign() {
            return ReferenceBackend.instance();
        }
    }
}
