package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.moe4j.core.testing.Tolerance;

/**
 * The text of one Example of a page. Each number in it has to be claimed by a phrase that contains it: as given, as the library's,
 * or as another system's. A claim takes the first place of its phrase that is still free, so that a number that stands twice is claimed
 * twice.
 */
final class Example {
    /** A number that is no part of a word, as it is written on the page: thousands by commas, minus as in print. */
    private static final Pattern NUMBER = Pattern.compile("(?<![\\p{L}\\d_]|\\d[.,])(?:(?<![\\p{L}\\d)])[−-])?"
            + "(\\d{1,3}(,\\d{3})+|\\d+)(\\.\\d+)?(e[−-]?\\d+)?(?![\\p{L}\\d])");

    /** What is no number of the example: code, and references to the report. */
    private static final Pattern ASIDE =
            Pattern.compile("`[^`]*`|(Section|Equation|Eq\\.|Table|Figure)s? \\d+(\\.\\d+)*");

    private static final double ROUNDING = 1e-12;

    private final String section;
    private final String text;
    private final BitSet claimed = new BitSet();

    Example(String section, String text) {
        this.section = section;
        this.text = text.replaceAll("\\s+", " ");
    }

    /** Numbers that the example starts from. */
    double[] given(String phrase) {
        return numbers(phrase).stream().mapToDouble(Example::value).toArray();
    }

    /** The one number of a phrase that the example starts from. */
    double givenOne(String phrase) {
        double[] numbers = given(phrase);
        assertThat(numbers).as("numbers of \"%s\"", phrase).hasSize(1);
        return numbers[0];
    }

    /** Numbers that the library computes; they have to be those of the definition, and those on the page. */
    void ours(String phrase, double[] library, double... definition) {
        assertThat(library).as("\"%s\" of %s", phrase, section).hasSameSizeAs(definition);
        for (int i = 0; i < library.length; i++) {
            Tolerance.assertWithin(
                    "number " + i + " of \"" + phrase + "\" of " + section,
                    library[i],
                    definition[i],
                    ROUNDING * Math.abs(definition[i]));
        }
        theirs(phrase, library);
    }

    /** Numbers of the library that are the same up to rounding. */
    void requireEqual(double[] one, double[] other) {
        assertThat(Tolerance.distance(one, other)).as("numbers in %s", section).isLessThanOrEqualTo(ROUNDING);
    }

    /** One number that the library computes. */
    void ours(String phrase, double library, double definition) {
        ours(phrase, new double[] {library}, definition);
    }

    /** Whole numbers that the library gives, as experts or counts. */
    void ours(String phrase, int[] library, int... definition) {
        assertThat(library).as("\"%s\" of %s", phrase, section).containsExactly(definition);
        theirs(phrase, doubles(library));
    }

    /** Numbers that follow by another system's rule, in the test's own arithmetic. */
    void theirs(String phrase, double... values) {
        List<String> shown = numbers(phrase);
        assertThat(values).as("numbers of \"%s\" of %s", phrase, section).hasSameSizeAs(shown);
        for (int i = 0; i < values.length; i++) {
            assertThat(reads(shown.get(i), values[i]))
                    .as("%s: the page has %s in \"%s\" where the value is %s", section, shown.get(i), phrase, values[i])
                    .isTrue();
        }
    }

    /** Fails when a number of the example was not claimed. */
    void requireAllClaimed() {
        List<String> free = numbersOf(text)
                .filter(number -> !claimed.get(number.start()))
                .map(number -> number.group() + " in \"…"
                        + text.substring(Math.max(0, number.start() - 25), Math.min(text.length(), number.end() + 15))
                        + "…\"")
                .toList();
        assertThat(free)
                .as("numbers of the example of \"%s\" that no test computes", section)
                .isEmpty();
    }

    /** Claims the first free place of the phrase that cuts no number; its numbers as they are written. */
    private List<String> numbers(String phrase) {
        for (int at = text.indexOf(phrase); at >= 0; at = text.indexOf(phrase, at + 1)) {
            int from = at;
            int to = at + phrase.length();
            List<MatchResult> touched = numbersOf(text)
                    .filter(number -> number.start() < to && number.end() > from)
                    .toList();
            if (touched.stream()
                    .allMatch(number -> number.start() >= from && number.end() <= to && !claimed.get(number.start()))) {
                touched.forEach(number -> claimed.set(number.start()));
                return touched.stream().map(MatchResult::group).toList();
            }
        }
        throw new AssertionError("The example of \"" + section + "\" has no free \"" + phrase + "\" in: " + text);
    }

    private static Stream<MatchResult> numbersOf(String text) {
        String numeric =
                ASIDE.matcher(text).replaceAll(aside -> " ".repeat(aside.group().length()));
        return NUMBER.matcher(numeric).results();
    }

    private static double value(String shown) {
        return new BigDecimal(plain(shown)).doubleValue();
    }

    private static String plain(String shown) {
        return shown.replace('−', '-').replace(",", "");
    }

    /** Whether a value reads as shown: rounded to the digits there are, and exactly where a whole number is shown. */
    private static boolean reads(String shown, double value) {
        BigDecimal number = new BigDecimal(plain(shown));
        if (!Double.isFinite(value)) {
            return false;
        }
        if (shown.contains("e")) {
            return new BigDecimal(value)
                            .round(new MathContext(number.precision(), RoundingMode.HALF_EVEN))
                            .compareTo(number)
                    == 0;
        }
        if (number.scale() == 0) {
            return Math.abs(value - number.doubleValue()) <= ROUNDING * Math.max(1, Math.abs(value));
        }
        return new BigDecimal(value)
                        .setScale(number.scale(), RoundingMode.HALF_EVEN)
                        .compareTo(number)
                == 0;
    }

    private static double[] doubles(int[] values) {
        return Arrays.stream(values).asDoubleStream().toArray();
    }
}
