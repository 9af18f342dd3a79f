package org.moe4j.bench.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** The checker of the page's numbers finds what is wrong with them. */
final class ExampleTest {
    private static Example of(String text) {
        return new Example("a section", text);
    }

    @Test
    void numbersAreReadAsTheyArePrinted() {
        assertThat(of("Logits (2, −1,\n0.5), K = 2 and 11,520, 1e-7").given("(2, −1, 0.5), K = 2 and 11,520, 1e-7"))
                .containsExactly(2, -1, 0.5, 2, 11520, 1e-7);
        assertThat(of("E − 1, bfloat16, V2, `top-2`, Figure 69, Section 21.1, w1")
                        .given("E − 1"))
                .containsExactly(1);
        Example words = of("E − 1, bfloat16, V2, `top-2`, Figure 69, Section 21.1, w1, e^100");
        words.given("E − 1");
        words.given("e^100");
        words.requireAllClaimed();
    }

    @Test
    void theDigitsShownHaveToBeThoseOfTheValue() {
        assertThatCode(() -> of("a 0.6667 b").theirs("a 0.6667", 2.0 / 3)).doesNotThrowAnyException();
        assertThatThrownBy(() -> of("a 0.6666 b").theirs("a 0.6666", 2.0 / 3))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("the page has 0.6666 in \"a 0.6666\" where the value is 0.666666");
        assertThatCode(() -> of("3.72e-44").theirs("3.72e-44", StrictMath.exp(-100)))
                .doesNotThrowAnyException();
        assertThatThrownBy(() -> of("3.73e-44").theirs("3.73e-44", StrictMath.exp(-100)))
                .isInstanceOf(AssertionError.class);
    }

    @Test
    void aWholeNumberIsExact() {
        assertThatThrownBy(() -> of("mass 1").theirs("mass 1", 0.9999)).isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> of("mass 1").theirs("mass 1", Double.NaN)).isInstanceOf(AssertionError.class);
    }

    @Test
    void theLibraryHasToAgreeWithTheDefinition() {
        assertThatThrownBy(() -> of("0.5").ours("0.5", 0.5 + 1e-12, 0.5))
                .isInstanceOf(AssertionError.class)
                .hasMessage("number 0 of \"0.5\" of a section: expected 0.5 within 5.0E-13 but was 0.500000000001");
        assertThatThrownBy(() -> of("1 and 2").ours("1 and 2", new int[] {1, 2}, 2, 1))
                .isInstanceOf(AssertionError.class);
    }

    @Test
    void everyNumberIsClaimedOnceForEachTimeItStands() {
        Example example = of("weights 0.5 and 0.5");
        example.theirs("0.5", 0.5);
        assertThatThrownBy(example::requireAllClaimed)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("0.5 in \"…weights 0.5 and 0.5…\"");
        example.theirs("0.5", 0.5);
        example.requireAllClaimed();
        assertThatThrownBy(() -> example.theirs("0.5", 0.5))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("no free \"0.5\"");
    }

    @Test
    void aPhraseCutsNoNumber() {
        Example example = of("mass 14.1 and mass 1");
        example.theirs("mass 1", 1);
        example.theirs("mass 14.1", 14.1);
        example.requireAllClaimed();
        assertThatThrownBy(() -> of("mass 14.1").theirs("mass 1", 1)).isInstanceOf(AssertionError.class);
    }

    @Test
    void aPhraseThatIsNotThereIsAnError() {
        assertThatThrownBy(() -> of("a 1").given("b 1")).isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> of("a 1 b 2").theirs("a 1 b 2", 1)).isInstanceOf(AssertionError.class);
    }
}
