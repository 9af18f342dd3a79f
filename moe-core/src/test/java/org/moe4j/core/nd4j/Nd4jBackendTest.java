package org.moe4j.core.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.nd4j.Nd4jBackend.Precision;
import org.moe4j.core.nd4j.Nd4jBackend.Strategy;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.BackendContract;

class Nd4jBackendTest {
    abstract static class Contract extends BackendContract {
        private final Backend backend;
        private final Backend foreign;

        Contract(Precision precision, Strategy strategy) {
            this(precision, strategy, Nd4jBackend.of(precision, strategy));
        }

        Contract(Precision precision, Strategy strategy, Backend backend) {
            this.backend = backend;
            foreign = precision == Precision.FLOAT32
                    ? Nd4jBackend.of(Precision.FLOAT64, strategy)
                    : ReferenceBackend.instance();
        }

        @Override
        protected Backend backend() {
            return backend;
        }

        @Override
        protected Backend foreign() {
            return foreign;
        }
    }

    @Nested
    class HostFloat32 extends Contract {
        HostFloat32() {
            super(Precision.FLOAT32, Strategy.HOST);
        }
    }

    @Nested
    class HostFloat64 extends Contract {
        HostFloat64() {
            super(Precision.FLOAT64, Strategy.HOST);
        }
    }

    /** As where OpenBLAS is wrong. */
    @Nested
    class HostFloat32ByJava extends Contract {
        HostFloat32ByJava() {
            super(Precision.FLOAT32, Strategy.HOST, Nd4jBackend.on(Precision.FLOAT32, JavaBlas::new));
        }
    }

    @Nested
    class HostFloat64ByJava extends Contract {
        HostFloat64ByJava() {
            super(Precision.FLOAT64, Strategy.HOST, Nd4jBackend.on(Precision.FLOAT64, JavaBlas::new));
        }
    }

    @Nested
    class DeviceFloat32 extends Contract {
        DeviceFloat32() {
            super(Precision.FLOAT32, Strategy.DEVICE);
        }
    }

    @Nested
    class DeviceFloat64 extends Contract {
        DeviceFloat64() {
            super(Precision.FLOAT64, Strategy.DEVICE);
        }
    }

    @Test
    void namesSayPrecisionAndStrategy() {
        assertThat(Nd4jBackend.float32().name()).isEqualTo("Nd4jBackend[float32]");
        assertThat(Nd4jBackend.float64().name()).isEqualTo("Nd4jBackend[float64]");
        assertThat(Nd4jBackend.of(Precision.FLOAT32, Strategy.DEVICE)).hasToString("Nd4jBackend[float32, device]");
        assertThat(Nd4jBackend.float32().unitRoundoff()).isEqualTo(0x1p-24);
    }

    @Test
    void equalityIgnoresWorkers() {
        Nd4jBackend two = Nd4jBackend.float32().withWorkers(2);
        assertThat(two).isEqualTo(Nd4jBackend.float32()).hasSameHashCodeAs(Nd4jBackend.float32());
        assertThat(two).isNotEqualTo(Nd4jBackend.float64());
        assertThat(two).isNotEqualTo(Nd4jBackend.of(Precision.FLOAT32, Strategy.DEVICE));
        assertThat(two.add(two.buffer(1, 1), Nd4jBackend.float32().buffer(1, 1)).toArray())
                .containsExactly(0);
        assertThatThrownBy(() -> two.withWorkers(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("workers: expected at least 1 but was 0");
    }

    /** The consumer's test: the versions that a user of this module gets, not those that ND4J brings. */
    @Test
    void aCurrentOpenBlasIsLoaded() {
        String report = Nd4jBackend.blasReport();
        System.out.println(report);
        assertThat(report).startsWith("OpenBLAS 0.3.31, core ").contains("1 thread per product");
    }
}
