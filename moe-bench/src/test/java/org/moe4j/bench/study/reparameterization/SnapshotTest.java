package org.moe4j.bench.study.reparameterization;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.moe4j.bench.study.reparameterization.ReparameterizationResult.Point;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.layer.MoeLayer;
import org.moe4j.core.parameter.Initializer;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;

final class SnapshotTest {
    private static final Backend EXACT = ReferenceBackend.instance();
    private static final String CHANGED = "shared.0.down";

    private static double most(double[] values) {
        return Arrays.stream(values).map(Math::abs).max().orElseThrow();
    }

    /** Twice a matrix and a little more in one of its entries: seen as that much of its largest one, once it is halved. */
    @Test
    void aMatrixIsComparedWithoutItsFactor() {
        double little = 1e-3;
        try (Matrix tokens = Initializer.normal(1).draw(EXACT, 16, ReparameterizationLayers.HIDDEN, 5);
                MoeLayer layer = ReparameterizationLayers.layer(EXACT, 3);
                Parameters parameters = layer.parameters();
                Parameters scaled =
                        parameters.map((name, value) -> name.equals(CHANGED) ? twice(value, little) : value.share());
                MoeLayer other = layer.withParameters(scaled);
                Matrix output = layer.apply(tokens);
                Matrix changed = other.apply(tokens)) {
            Point point = new Snapshot(other, tokens)
                    .from(new Snapshot(layer, tokens), 7, name -> name.equals(CHANGED) ? 2 : 1);
            assertThat(point.step()).isEqualTo(7);
            double[] original = parameters.get(CHANGED).toArray();
            assertThat(point.parameters()).isCloseTo(little / 2 / most(original), within(1e-15));
            double[] y = output.toArray();
            double[] difference = changed.toArray();
            Arrays.setAll(difference, i -> difference[i] - y[i]);
            assertThat(point.function()).isEqualTo(most(difference) / most(y)).isGreaterThan(0.01);
        }
    }

    private static Matrix twice(Matrix value, double more) {
        double[] values = value.toArray();
        Arrays.setAll(values, i -> 2 * values[i] + (i == 5 ? more : 0));
        return EXACT.matrix(value.rows(), value.columns(), values);
    }

    @Test
    void aLayerDoesNotDeviateFromItself() {
        try (Matrix tokens = Initializer.normal(1).draw(EXACT, 16, ReparameterizationLayers.HIDDEN, 5);
                MoeLayer layer = ReparameterizationLayers.layer(EXACT, 3)) {
            Snapshot snapshot = new Snapshot(layer, tokens);
            assertThat(snapshot.from(snapshot, 0, name -> 1)).isEqualTo(new Point(0, 0, 0));
        }
    }
}
