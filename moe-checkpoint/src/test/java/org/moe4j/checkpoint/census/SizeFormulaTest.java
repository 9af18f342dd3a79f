package org.moe4j.checkpoint.census;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.moe4j.checkpoint.config.ModelConfig;

class SizeFormulaTest {
    private static SizeFormula.Scope scope() throws IOException {
        return new SizeFormula.Scope(
                ModelConfig.parse(
                        "c",
                        "{\"a\": 6, \"b\": 4, \"no\": null, \"word\": \"x\", \"half\": 0.5,"
                                + " \"huge\": 9999999999, \"in\": {\"side\": 3}}"),
                Map.of("twice", SizeFormula.parse("a * 2"), "gone", SizeFormula.parse("z + y")));
    }

    @ParameterizedTest
    @CsvSource({
        "7, 7",
        "a, 6",
        "a + b * 2, 14",
        "(a + b) * 2, 20",
        "a * b / 8, 3",
        "a / 3 / 2, 1",
        "a / (b / 2), 3",
        "twice + 1, 13",
        "in.side * a, 18",
        "no | a, 6",
        "no | z | b, 4",
        "b | no, 4",
        "no + 1 | a + 1, 7",
        "(no | b) * a, 24",
        "gone | 5, 5",
    })
    void aFormulaHasItsValue(String text, long value) throws IOException {
        assertThat(SizeFormula.parse(text).value(scope())).hasValue(value);
        assertThat(SizeFormula.parse(text).absent(scope())).isEmpty();
    }

    @Test
    void anAbsentKeyLeavesNoValueAndIsNamed() throws IOException {
        SizeFormula formula = SizeFormula.parse("a * (no | z) + gone");
        assertThat(formula.value(scope())).isEmpty();
        assertThat(formula.absent(scope())).containsExactly("no", "y", "z");
        assertThat(SizeFormula.parse("z").absent(scope())).containsExactly("z");
    }

    @Test
    void whatIsNoSizeIsRefused() throws IOException {
        SizeFormula.Scope scope = scope();
        assertThatThrownBy(() -> SizeFormula.parse("word").value(scope))
                .hasMessage("c: word: expected a size but was x");
        assertThatThrownBy(() -> SizeFormula.parse("half").value(scope))
                .hasMessage("c: half: expected a size but was 0.5");
        assertThatThrownBy(() -> SizeFormula.parse("a / b").value(scope))
                .hasMessage("c: a / b: expected a quotient without a rest but was 6/4");
        assertThatThrownBy(() -> SizeFormula.parse("a / 0").value(scope))
                .hasMessage("c: a / 0: expected a quotient without a rest but was 6/0");
        assertThatThrownBy(() -> SizeFormula.parse("(huge + 1) * huge").value(scope))
                .hasMessage("c: (huge + 1) * huge: expected less than 2^63 but was 10000000000 * 9999999999");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a +", "(a", "a)", "a b", "+ a", "a - b", "a,b", "-1"})
    void otherNotationsAreRefused(String text) {
        assertThatThrownBy(() -> SizeFormula.parse(text))
                .hasMessage("size: expected numbers, names, + * / | and parentheses but was " + text);
    }
}
