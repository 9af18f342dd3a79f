package org.moe4j.bench.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Backend;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.parameter.Parameters;
import org.moe4j.core.reference.ReferenceBackend;

final class GradientClippingTest {
    private static final Backend EXACT = ReferenceBackend.instance();

    /** 2, 3, 6 over two matrices: norm 7. */
    private static Parameters gradients() {
        Map<String, Matrix> gradients = new LinkedHashMap<>();
        gradients.put("a", EXACT.matrix(1, 2, new double[] {2, -3}));
        gradients.put("b", EXACT.matrix(1, 1, new double[] {6}));
        return Parameters.of(gradients);
    }

    @Test
    void allGradientsTogetherAreAsLongAsAllowed() {
        try (Parameters gradients = gradients()) {
            assertThat(new GradientClipping(1.75).factor(gradients)).isEqualTo(0.25);
        }
    }

    @Test
    void shorterOnesStay() {
        try (Parameters gradients = gradients()) {
            assertThat(new GradientClipping(7).factor(gradients)).isEqualTo(1);
            assertThat(new GradientClipping(100).factor(gradients)).isEqualTo(1);
        }
    }

    /** 2·2, 2·3 and ½·6: √61. */
    @Test
    void weightsAreOfTheNorm() {
        try (Parameters gradients = gradients()) {
            assertThat(new GradientClipping(1).factor(gradients, name -> name.equals("a") ? 2 : 0.5))
                    .isCloseTo(1 / Math.sqrt(61), within(1e-16));
        }
    }

    @Test
    void zerosStay() {
        try (Parameters zeros = Parameters.of("a", EXACT.matrix(1, 1, new double[1]))) {
            assertThat(new GradientClipping(1e-3).factor(zeros)).isEqualTo(1);
        }
    }

    @Test
    void aLimitIsAboveZero() {
        assertThatThrownBy(() -> new GradientClipping(0)).hasMessage("most: expected a number above 0 but was 0.0");
        assertThatThrownBy(() -> new GradientClipping(Double.POSITIVE_INFINITY))
                .hasMessage("most: expected a finite number but was Infinity");
    }

    /** An infinite norm would make 0 of all that is finite, and a NaN would pass for a short one. */
    @Test
    void gradientsThatAreNotFiniteAreRefused() {
        for (double bad : new double[] {Double.NaN, Double.POSITIVE_INFINITY, 1e200}) {
            try (Parameters gradients = Parameters.of("a", EXACT.matrix(1, 2, new double[] {bad, 1}))) {
                assertThatThrownBy(() -> new GradientClipping(1).factor(gradients))
                        .isInstanceOf(ArithmeticException.class)
                        .hasMessageStartingWith("gradients: expected a finite norm but was ");
            }
        }
    }
}
