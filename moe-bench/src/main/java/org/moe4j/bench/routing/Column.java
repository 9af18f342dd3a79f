package org.moe4j.bench.routing;

import java.util.Locale;

/**
 * A column of a {@link Sheet}.
 *
 * @param key its name in JSON and CSV
 * @param heading its name for people, with the unit
 * @param form how its cells are shown
 */
public record Column(String key, String heading, Form form) {
    /** How a number is shown; JSON and CSV have all its digits. */
    public enum Form {
        /** Words and whole numbers, as they are. */
        PLAIN("%s", 1),
        /** One decimal. */
        TENTHS("%.1f", 1),
        /** Two decimals. */
        HUNDREDTHS("%.2f", 1),
        /** Three decimals. */
        THOUSANDTHS("%.3f", 1),
        /** Four decimals. */
        FOUR_DECIMALS("%.4f", 1),
        /** Six digits, with a power of ten where the number is small or large. */
        SIX_DIGITS("%.6g", 1),
        /** A share of 1 as percent, two decimals. */
        PERCENT("%.2f %%", 100),
        /** A ratio. */
        TIMES("%.2fx", 1);

        private final String format;
        private final double factor;

        Form(String format, double factor) {
            this.format = format;
            this.factor = factor;
        }

        String number(double value) {
            return String.format(Locale.ROOT, format, factor * value);
        }
    }

    /**
     * Words or whole numbers.
     *
     * @param key its name in JSON and CSV
     * @param heading its name for people
     * @return a column
     */
    public static Column plain(String key, String heading) {
        return new Column(key, heading, Form.PLAIN);
    }

    /** A cell as people read it. */
    String shown(Cell cell) {
        if (cell instanceof Cell.Count count) {
            return String.format(Locale.ROOT, "%,d", count.value());
        }
        if (cell instanceof Cell.Real real) {
            return form.number(real.value());
        }
        return cell instanceof Cell.Text text ? text.value() : "-";
    }
}
