package org.moe4j.checkpoint.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.parameter.Gradients;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;
import org.moe4j.core.testing.FiniteDifferences;

class RmsNormTest {
    private static final Backend BACKEND = ReferenceBackend.instance();

    private static RmsNorm norm(double epsilon, double offset, double... weight) {
        try (Matrix row = BACKEND.matrix(1, weight.length, weight)) {
            return RmsNorm.of(row, epsilon, offset);
        }
    }

    private static double[] apply(RmsNorm norm, double... x) {
        try (Matrix in = BACKEND.matrix(x.length / norm.width(), norm.width(), x);
                Matrix out = norm.apply(in)) {
            return out.toArray();
        }
    }

    /** (3, 4) has mean square 12.5, and (6, −2) has 20. */
    @Test
    void eachRowIsDividedByItsRootMeanSquare() {
        try (RmsNorm norm = norm(0, 0, 2, 5)) {
            assertThat(apply(norm, 3, 4, 6, -2))
                    .containsExactly(
                            new double[] {
                                6 / Math.sqrt(12.5), 20 / Math.sqrt(12.5), 12 / Math.sqrt(20), -10 / Math.sqrt(20)
                            },
                            within(1e-15));
        }
    }

    @Test
    void epsilonIsInTheMeanAndOffsetInTheWeight() {
        try (RmsNorm norm = norm(3.5, 1, 1, 4)) {
            assertThat(apply(norm, 3, 4)).containsExactly(new double[] {1.5, 5}, within(1e-15));
            assertThat(norm).hasToString("RmsNorm[2, epsilon 3.5, offset 1.0]");
            assertThat(norm.epsilon()).isEqualTo(3.5);
            assertThat(norm.offset()).isEqualTo(1);
        }
    }

    @Test
    void noTokensAreLegal() {
        try (RmsNorm norm = norm(1e-6, 0, 1, 1, 1)) {
            assertThat(apply(norm)).isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource({"0, 1e-6", "1, 0.3", "0, 0"})
    void gradientsAreThoseOfDifferences(double offset, double epsilon) {
        SplittableRandom random = new SplittableRandom(7);
        double[] x = random.doubles(15, -2, 2).toArray();
        double[] weight = random.doubles(5, -2, 2).toArray();
        double[] dY = random.doubles(15, -2, 2).toArray();
        try (RmsNorm norm = norm(epsilon, offset, weight);
                Matrix in = BACKEND.matrix(3, 5, x);
                Matrix d = BACKEND.matrix(3, 5, dY);
                Gradients gradients = norm.backward(in, d)) {
            double[] ofX = FiniteDifferences.gradient(at -> loss(at, weight, epsilon, offset, dY), x);
            double[] ofWeight = FiniteDifferences.gradient(at -> loss(x, at, epsilon, offset, dY), weight);
            double largest = FiniteDifferences.norm(ofX, ofWeight);
            assertThat(FiniteDifferences.worst(gradients.input().toArray(), ofX, largest))
                    .isLessThanOrEqualTo(1);
            double[] actual = gradients.parameters().get(RmsNorm.WEIGHT).toArray();
            assertThat(FiniteDifferences.worst(actual, ofWeight, largest)).isLessThanOrEqualTo(1);
        }
    }

    /** The definition, written apart. */
    private static double loss(double[] x, double[] weight, double epsilon, double offset, double[] dY) {
        int width = weight.length;
        double loss = 0;
        for (int t = 0; t < x.length / width; t++) {
            double mean = 0;
            for (int j = 0; j < width; j++) {
                mean += x[t * width + j] * x[t * width + j] / width;
            }
            for (int j = 0; j < width; j++) {
                int i = t * width + j;
                loss += dY[i] * x[i] * (offset + weight[j]) / Math.sqrt(mean + epsilon);
            }
        }
        return loss;
    }

    @Test
    void parametersBelongToTheCaller() {
        try (RmsNorm norm = norm(0, 0, 2, 5)) {
            try (Parameters parameters = norm.parameters()) {
                assertThat(parameters.get("weight").toArray()).containsExactly(2, 5);
            }
            assertThat(apply(norm, 1, 1)).containsExactly(2, 5);
        }
    }

    @Test
    void wrongArgumentsAreNamed() {
        try (Matrix two = BACKEND.matrix(2, 2, new double[4]);
                Matrix row = BACKEND.matrix(1, 2, new double[2]);
                RmsNorm norm = norm(0, 0, 1, 1, 1)) {
            assertThatThrownBy(() -> RmsNorm.of(two, 0, 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("weight.rows: expected 1 row but was 2");
            assertThatThrownBy(() -> RmsNorm.of(row, -1, 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("epsilon: expected a finite number of at least 0 but was -1.0");
            assertThatThrownBy(() -> norm.apply(two))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("x.columns: expected 3 columns (width of the norm) but was 2");
        }
    }
}
