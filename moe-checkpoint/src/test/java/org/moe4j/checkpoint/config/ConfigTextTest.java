package org.moe4j.checkpoint.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import org.junit.jupiter.api.Test;

/** Changed values in a text of which nothing else changes. */
class ConfigTextTest {
    private static final String TEXT =
            "{\n  \"a\": 1.50,\n  \"b\" : \"x, \\\"y\\\"\",\n  \"c\": {\"a\": [1, {\"a\": 2}], \"d\": null},\n  \"e\": 1e-05\n}\n";

    private static ModelConfig config() throws IOException {
        return ModelConfig.parse("config", TEXT);
    }

    @Test
    void aValueIsReplacedWhereItStands() throws IOException {
        assertThat(config().with("a", "2.0").json()).isEqualTo(TEXT.replace("1.50", "2.0"));
        assertThat(config().with("b", "null").json()).isEqualTo(TEXT.replace("\"x, \\\"y\\\"\"", "null"));
        assertThat(config().with("c.d", "[0]").json()).isEqualTo(TEXT.replace("null", "[0]"));
        assertThat(config().with("c", "7").json())
                .isEqualTo(TEXT.replace("{\"a\": [1, {\"a\": 2}], \"d\": null}", "7"));
        assertThat(config().with("e", "0").json()).isEqualTo(TEXT.replace("1e-05", "0"));
        assertThat(config().with("a", "2.0").text("a")).contains("2.0");
    }

    @Test
    void anAbsentKeyComesFirst() throws IOException {
        assertThat(config().with("z", "true").json())
                .isEqualTo(TEXT.replace("\"a\": 1.50", "\"z\": true,\n  \"a\": 1.50"));
        assertThat(ModelConfig.parse("config", "{ }").with("z", "1").json()).isEqualTo("{ \"z\": 1}");
    }

    @Test
    void aKeyIsTakenOut() throws IOException {
        assertThat(config().without("a").json()).isEqualTo(TEXT.replace("\"a\": 1.50,\n  ", ""));
        assertThat(config().without("e").json()).isEqualTo(TEXT.replace(",\n  \"e\": 1e-05", ""));
        assertThat(ModelConfig.parse("config", "{\"a\": 1}").without("a").json())
                .isEqualTo("{}");
        assertThat(config().without("z").json()).isEqualTo(TEXT);
    }

    @Test
    void theTextModelHasItsOwn() throws IOException {
        String text = "{\"a\": 1, \"b\": 2, \"text_config\": {\"a\": 3, \"c\": 4}}";
        ModelConfig nested = ModelConfig.parse("config", text);
        assertThat(nested.with("a", "9").json())
                .isEqualTo(text.replace("\"a\": 3", "\"a\": 9").replace("\"a\": 1", "\"a\": 9"));
        assertThat(nested.without("a").json()).isEqualTo("{\"b\": 2, \"text_config\": {\"c\": 4}}");
        assertThat(nested.with("b", "9").json()).isEqualTo(text.replace("\"b\": 2", "\"b\": 9"));
        assertThat(nested.with("d", "9").json()).isEqualTo(text.replace("{\"a\": 3", "{\"d\": 9,\"a\": 3"));
        assertThat(nested.without("c").json()).isEqualTo(text.replace(", \"c\": 4", ""));
    }

    @Test
    void aLongTextKeepsItsPlaces() throws IOException {
        String text = "{\"long\": \"" + "é".repeat(50_000) + "\", \"a\": 1, \"b\": 2}";
        assertThat(ModelConfig.parse("config", text).with("a", "3").json())
                .isEqualTo(text.replace("\"a\": 1", "\"a\": 3"));
    }

    @Test
    void whatIsNoValueIsRefused() {
        assertThatThrownBy(() -> config().with("a", "x")).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> ConfigChange.parse("a = 1"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("change: expected key: value but was a = 1");
    }
}
