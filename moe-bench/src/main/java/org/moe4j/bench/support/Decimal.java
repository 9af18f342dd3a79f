package org.moe4j.bench.support;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.List;

/**
 * Numbers as the files of studies have them, the same from every JDK: {@link Double#toString} gives more digits than it takes before
 * JDK 19, of which it has the form.
 *
 * @see <a href="https://bugs.openjdk.org/browse/JDK-4511638">JDK-4511638</a>
 */
public final class Decimal {
    private static final int LEAST_DIGITS = 2;
    private static final int MOST_DIGITS = 17;

    /** The nearest decimal below a power of two may read as another number where the one above does not. */
    private static final List<RoundingMode> NEAREST_FIRST =
            List.of(RoundingMode.HALF_EVEN, RoundingMode.UP, RoundingMode.DOWN);

    private Decimal() {}

    /**
     * The shortest decimal that reads as the number, and of several the one nearest to it (of two the even one).
     *
     * @param value any
     * @return as {@link Double#toString} of JDK 19 and newer
     */
    public static String of(double value) {
        if (value == 0 || !Double.isFinite(value)) {
            return Double.toString(value);
        }
        BigDecimal stripped = shortest(value).stripTrailingZeros();
        int exponent = stripped.precision() - stripped.scale() - 1;
        if (exponent >= -3 && exponent < 7) {
            return (stripped.scale() < 1 ? stripped.setScale(1) : stripped).toPlainString();
        }
        BigDecimal mantissa = stripped.movePointLeft(exponent);
        return (mantissa.scale() < 1 ? mantissa.setScale(1) : mantissa).toPlainString() + "E" + exponent;
    }

    private static BigDecimal shortest(double value) {
        BigDecimal exact = new BigDecimal(value);
        for (int digits = LEAST_DIGITS; digits < MOST_DIGITS; digits++) {
            for (RoundingMode mode : NEAREST_FIRST) {
                BigDecimal rounded = exact.round(new MathContext(digits, mode));
                if (rounded.doubleValue() == value) {
                    return rounded;
                }
            }
        }
        return exact.round(new MathContext(MOST_DIGITS, RoundingMode.HALF_EVEN));
    }
}
