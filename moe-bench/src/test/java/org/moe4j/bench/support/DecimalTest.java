package org.moe4j.bench.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class DecimalTest {
    /** Where JDK 17 has more digits, and at the ends of the range. */
    @Test
    void theShortestDecimalThatReadsAsTheNumber() {
        assertThat(Decimal.of(0x1p-24)).isEqualTo("5.960464477539063E-8"); // 5.9604644775390625E-8 before JDK 19
        assertThat(Decimal.of(Double.parseDouble("2e23"))).isEqualTo("2.0E23");
        assertThat(Decimal.of(44 * Double.MIN_VALUE)).isEqualTo("2.17E-322");
        assertThat(Decimal.of(Double.MIN_VALUE)).isEqualTo("4.9E-324");
        assertThat(Decimal.of(Double.MAX_VALUE)).isEqualTo("1.7976931348623157E308");
        assertThat(Decimal.of(0.1 + 0.2)).isEqualTo("0.30000000000000004");
    }

    @Test
    void theFormIsThatOfDouble() {
        for (double value : new double[] {
            0, -0.0, 1, -1, 10, 0.001, 0.00099, 123456.75, 9999999, 1e7, 1.25e7, -0.5, 1e-10, 100, Double.NaN, -1 / 0.0
        }) {
            assertThat(Decimal.of(value)).isEqualTo(Double.toString(value));
        }
    }

    @Test
    void everyNumberReadsBackAndIsNoLongerThanDoublesOwn() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 20_000; i++) {
            double value = Double.longBitsToDouble(random.nextLong());
            if (Double.isFinite(value)) {
                String text = Decimal.of(value);
                assertThat(Double.parseDouble(text)).isEqualTo(value);
                assertThat(text.length())
                        .isLessThanOrEqualTo(Double.toString(value).length());
            }
        }
    }
}
