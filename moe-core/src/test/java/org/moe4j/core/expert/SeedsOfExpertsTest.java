package org.moe4j.core.expert;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;

/** Which seed each matrix of random experts has: the next of one stream, expert by expert, gate, up, down. */
class SeedsOfExpertsTest {
    @Test
    void eachMatrixHasTheNextSeed() {
        Backend backend = ReferenceBackend.instance();
        Initializer gateUp = Initializer.normal(0.5);
        Initializer down = Initializer.normal(2);
        SplittableRandom seeds = new SplittableRandom(42);
        try (SwiGluExperts experts = SwiGluExperts.random(new ExpertShape(3, 5, 4), backend, 42, gateUp, down)) {
            Parameters parameters = experts.parameters();
            for (int e = 0; e < 3; e++) {
                same(parameters.get(e + ".gate"), gateUp.draw(backend, 4, 5, seeds.nextLong()));
                same(parameters.get(e + ".up"), gateUp.draw(backend, 4, 5, seeds.nextLong()));
                same(parameters.get(e + ".down"), down.draw(backend, 5, 4, seeds.nextLong()));
            }
            parameters.close();
        }
    }

    private static void same(Matrix actual, Matrix expected) {
        try (expected) {
            assertThat(actual.toArray()).isEqualTo(expected.toArray());
        }
    }
}
