package org.moe4j.router.analysis.intervention;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.moe4j.core.backend.Matrix;
import org.moe4j.core.reference.ReferenceBackend;

class OutputChangeTest {
    private static Matrix matrix(int rows, double... values) {
        return ReferenceBackend.instance().matrix(rows, 2, values);
    }

    @Test
    void numbersAreThoseOfThePlane() {
        // (3, 4) becomes (4, 3); (0, 2) becomes (0, 2); (1, 0) becomes (0, 1)
        OutputChange change = OutputChange.between(matrix(3, 3, 4, 0, 2, 1, 0), matrix(3, 4, 3, 0, 2, 0, 1));
        assertThat(change.tokens()).isEqualTo(3);
        assertThat(change.beforeRms()).isCloseTo(Math.sqrt(30 / 6.0), within(1e-15));
        assertThat(change.differenceRms()).isCloseTo(Math.sqrt(4 / 6.0), within(1e-15));
        assertThat(change.relative()).isCloseTo(Math.sqrt(4 / 30.0), within(1e-15));
        assertThat(change.cosine()).isCloseTo(28 / 30.0, within(1e-15));
        assertThat(change.meanTokenCosine()).isCloseTo((24 / 25.0 + 1 + 0) / 3, within(1e-15));
    }

    @Test
    void zerosAndNoTokensHaveDefinedChanges() {
        OutputChange both = OutputChange.between(matrix(1, 0, 0), matrix(1, 0, 0));
        assertThat(both).isEqualTo(new OutputChange(1, 0, 0, 1, 1));
        assertThat(both.relative()).isZero();
        OutputChange before = OutputChange.between(matrix(1, 0, 0), matrix(1, 3, 4));
        assertThat(before.cosine()).isZero();
        assertThat(before.relative()).isInfinite();
        assertThat(OutputChange.between(matrix(0), matrix(0))).isEqualTo(new OutputChange(0, 0, 0, 1, 1));
    }

    @Test
    void shapesHaveToBeTheSame() {
        Matrix one = matrix(1, 1, 2);
        Matrix two = matrix(2, 1, 2, 3, 4);
        assertThatThrownBy(() -> OutputChange.between(one, two)).hasMessageContaining("after: expected 1 x 2");
    }
}
