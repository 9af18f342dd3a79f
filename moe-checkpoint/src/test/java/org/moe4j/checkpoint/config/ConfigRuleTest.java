package org.moe4j.checkpoint.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigRuleTest {
    private static ModelConfig config() {
        try {
            return ModelConfig.parse("config.json", """
                    {"experts": 8, "norm": true, "nothing": null, "p": 2.0, "kind": "silu", "list": [1, 2],
                     "nested": {"size": 3}}""");
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '>',
            quoteCharacter = '"',
            value = {
                "'text' > text",
                "experts > 8",
                "absent, experts > 8",
                "absent | 4 > 4",
                "nothing | absent > absent",
                "nothing | [] > []",
                "nothing, experts | 4 > 8",
                "experts | 4 > 8",
                "nested.size > 3",
                "list > [1,2]",
                "experts * p * absent | 3 > 48.0",
                "sqrt experts / p > 2.0",
                "p * sqrt experts / p > 4.0",
                "experts if kind = silu > 8",
                "experts if kind != gelu > 8",
                "experts if kind = silu if norm = true > 8",
            })
    void aRuleGivesASetting(String rule, String setting) {
        assertThat(ConfigRule.parse(rule).apply(config())).contains(setting);
    }

    @Test
    void wordsAreTranslated() {
        assertThat(ConfigRule.parse("norm -> true: sum, false: none").apply(config()))
                .contains("sum");
        assertThat(ConfigRule.parse("p -> 1.0: sum, *: norm").apply(config())).contains("norm");
        assertThat(ConfigRule.parse("absent | none -> a: b").apply(config())).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "absent | none",
                "experts if kind = gelu",
                "experts if kind != silu",
                "experts if kind = silu if norm = false"
            })
    void aRuleMayGiveNone(String rule) {
        assertThat(ConfigRule.parse(rule).apply(config())).isEqualTo(Optional.empty());
    }

    @Test
    void twoNamesOfOneSettingAgree() {
        assertThatThrownBy(() -> ConfigRule.parse("experts, p").apply(config()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("config.json: experts or p: expected one value but was 8 and 2.0");
        assertThat(ConfigRule.parse("list, kind").apply(config())).contains("[1,2]");
    }

    @Test
    void anAbsentKeyIsNamed() {
        assertThatThrownBy(() -> ConfigRule.parse("absent, missing").apply(config()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("config.json: absent or missing: expected a value but was absent");
    }

    @Test
    void nullIsNoAbsentKey() {
        assertThatThrownBy(() -> ConfigRule.parse("nothing | 4").apply(config()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("config.json: nothing: expected a value but was null");
        assertThat(ConfigRule.parse("nothing | 1.0 -> null: none, 1.0: sum").apply(config()))
                .contains("none");
        assertThat(ConfigRule.parse("nothing | none").apply(config())).isEmpty();
    }

    @Test
    void anUnknownWordIsRefused() {
        assertThatThrownBy(() -> ConfigRule.parse("kind -> relu: a, gelu: b").apply(config()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("config.json: kind: expected one of [relu, gelu] but was silu");
    }

    @Test
    void aProductIsOfNumbers() {
        assertThatThrownBy(() -> ConfigRule.parse("experts * kind").apply(config()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("config.json: kind: expected a number but was silu");
    }

    @Test
    void aRuleIsCalledByItsKeys() {
        assertThat(ConfigRule.parse("p * sqrt experts, n / p if kind = silu").key())
                .isEqualTo("p * sqrt experts or n / p");
        assertThat(ConfigRule.parse("'true'").key()).isEqualTo("'true'");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "'open",
                "'",
                "a | b | c",
                "a -> b",
                "a -> b: c, b: d",
                "a -> b: c -> d: e",
                "a b",
                "",
                "sqrt a",
                "a if b",
                "a if =b",
            })
    void whatIsNotInTheNotationIsRefused(String rule) {
        assertThatThrownBy(() -> ConfigRule.parse(rule))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("rule: expected ")
                .hasMessageEndingWith(" but was " + rule);
    }
}
