package org.moe4j.core.reference;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.nd4j.Nd4jBackend;
import org.moe4j.core.testing.BackendContract;

class ReferenceBackendTest extends BackendContract {
    @Override
    protected Backend backend() {
        return ReferenceBackend.instance();
    }

    @Override
    protected Backend foreign() {
        return Nd4jBackend.of(Nd4jBackend.Precision.FLOAT64, Nd4jBackend.Strategy.HOST);
    }

    @Test
    void computesInDouble() {
        assertThat(backend().unitRoundoff()).isEqualTo(0x1p-53);
        assertThat(backend().name()).isEqualTo("ReferenceBackend");
    }
}
