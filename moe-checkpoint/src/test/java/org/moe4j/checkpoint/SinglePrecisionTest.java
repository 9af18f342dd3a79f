package org.moe4j.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.vector.VectorBackend;

/** Weights read in single precision are those read in double, rounded once, from every family's way of storing them. */
class SinglePrecisionTest {
    static List<String> names() {
        return Fixture.names();
    }

    @ParameterizedTest
    @MethodSource("names")
    void everyWeightIsRoundedOnce(String name) throws IOException {
        Fixture fixture = Fixture.named(name);
        Backend single = VectorBackend.float32();
        try (MoeCheckpoint checkpoint = MoeCheckpoint.open(fixture.folder());
                MoeLayer wide = checkpoint.layer(fixture.layer(), ReferenceBackend.instance());
                MoeLayer narrow = checkpoint.layer(fixture.layer(), single);
                Parameters expected = wide.parameters();
                Parameters actual = narrow.parameters()) {
            assertThat(actual.names()).isEqualTo(expected.names());
            for (String parameter : expected.names()) {
                double[] rounded = expected.get(parameter).toArray();
                for (int i = 0; i < rounded.length; i++) {
                    rounded[i] = (float) rounded[i];
                }
                assertThat(actual.get(parameter).toArray()).as(parameter).containsExactly(rounded);
            }
        }
    }
}
