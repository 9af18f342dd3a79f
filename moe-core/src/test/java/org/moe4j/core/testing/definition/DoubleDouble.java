package org.moe4j.core.testing.definition;

/**
 * Numbers of twice the digits, as the unevaluated sum of two doubles: for definitions against which results in double are
 * measured. The error of an operation is some 2⁻¹⁰² of its result. Sums and products after T. J. Dekker, Numerische Mathematik 18
 * (1971).
 */
public record DoubleDouble(double high, double low) {
    public static final DoubleDouble ONE = of(1);

    /** √(2/π). */
    public static final DoubleDouble ROOT_OF_TWO_BY_PI = of(2).dividedBy(pi()).root();

    /** 1/√(2π). */
    public static final DoubleDouble DENSITY_AT_ZERO = ROOT_OF_TWO_BY_PI.times(of(0.5));

    private static final int HALVINGS = 10;
    private static final int TERMS = 14; // below 2⁻¹¹ the next term is below 2⁻²⁰⁰

    public static DoubleDouble of(double value) {
        return new DoubleDouble(value, 0);
    }

    private static DoubleDouble pi() {
        return new DoubleDouble(0x1.921fb54442d18p1, 0x1.1a62633145c07p-53);
    }

    private static DoubleDouble sum(double a, double b) {
        double sum = a + b;
        double rest = sum - a;
        return new DoubleDouble(sum, (a - (sum - rest)) + (b - rest));
    }

    public DoubleDouble plus(DoubleDouble other) {
        DoubleDouble sum = sum(high, other.high);
        return sum(sum.high, sum.low + (low + other.low));
    }

    public DoubleDouble minus(DoubleDouble other) {
        return plus(other.negated());
    }

    public DoubleDouble negated() {
        return new DoubleDouble(-high, -low);
    }

    public DoubleDouble times(DoubleDouble other) {
        double product = high * other.high;
        double rest = Math.fma(high, other.high, -product) + (high * other.low + low * other.high);
        return sum(product, rest);
    }

    public DoubleDouble dividedBy(DoubleDouble other) {
        DoubleDouble quotient = of(high / other.high);
        for (int step = 0; step < 2; step++) {
            double rest = minus(quotient.times(other)).high / other.high;
            quotient = quotient.plus(of(rest));
        }
        return quotient;
    }

    private DoubleDouble root() {
        DoubleDouble root = of(Math.sqrt(high));
        return root.plus(minus(root.times(root)).dividedBy(root.plus(root)));
    }

    /** {@code e^x} for |x| &lt; 700: {@code 2^q · (e^r)^1024} by Taylor's series of {@code e^r − 1}. */
    public DoubleDouble exp() {
        DoubleDouble ln2 = new DoubleDouble(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56);
        double q = Math.rint(high / ln2.high);
        DoubleDouble r = minus(ln2.times(of(q))).times(of(1.0 / (1 << HALVINGS)));
        DoubleDouble term = r;
        DoubleDouble sum = r;
        for (int n = 2; n <= TERMS; n++) {
            term = term.times(r).dividedBy(of(n));
            sum = sum.plus(term);
        }
        for (int i = 0;
                i < HALVINGS;
                i++) { // e^2x − 1 = (e^x − 1)·(e^x − 1 + 2), which keeps the digits of small numbers
            sum = sum.times(sum.plus(of(2)));
        }
        DoubleDouble power = sum.plus(ONE);
        double half = Math.scalb(1.0, (int) q / 2);
        double rest = Math.scalb(1.0, (int) q - (int) q / 2);
        return power.times(of(half)).times(of(rest));
    }

    /** {@code 1 / (1 + e^−x)}. */
    public DoubleDouble sigmoid() {
        return ONE.dividedBy(ONE.plus(negated().exp()));
    }
}
