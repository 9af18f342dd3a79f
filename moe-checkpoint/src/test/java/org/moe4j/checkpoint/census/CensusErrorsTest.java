package org.moe4j.checkpoint.census;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.moe4j.checkpoint.config.ModelConfig;

class CensusErrorsTest {
    private static ModelConfig mixtral(String more) throws IOException {
        return ModelConfig.parse(
                "c",
                "{\"model_type\": \"mixtral\", \"num_hidden_layers\": 1, \"hidden_size\": 12,"
                        + " \"intermediate_size\": 5" + more + "}");
    }

    @Test
    void anUnknownFamilyIsRefused() {
        assertThatThrownBy(() -> Census.of(ModelConfig.parse("c", "{\"model_type\": \"llama\"}")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("c: model_type: expected one of [mixtral, ")
                .hasMessageEndingWith(" but was llama");
    }

    @Test
    void absentKeysAreNamedAndTheirRolesUnknown() throws IOException {
        Census census = Census.of(mixtral(""));
        assertThat(census.unknown())
                .containsEntry(Role.EMBEDDING, "the configuration has no vocab_size")
                .containsEntry(Role.LM_HEAD, "the configuration has no vocab_size")
                .containsEntry(Role.ATTENTION, "the configuration has no head_dim, num_attention_heads");
        assertThat(census.counts().keySet()).containsExactly(Role.ROUTER, Role.ROUTED_EXPERTS, Role.NORMS);
    }

    @Test
    void aSizeThatIsNoneIsRefused() {
        assertThatThrownBy(() -> Census.of(mixtral(", \"vocab_size\": -5")))
                .hasMessage("c: vocab_size: expected a size but was -5");
        assertThatThrownBy(() -> Census.of(mixtral(", \"vocab_size\": [5]")))
                .hasMessage("c: vocab_size: expected a size but was [5]");
        assertThatThrownBy(() -> Census.of(mixtral(", \"vocab_size\": 5, \"num_attention_heads\": 5")))
                .hasMessage("c: hidden_size / num_attention_heads: expected a quotient without a rest but was 12/5");
    }

    @Test
    void moreThanCanBeCountedIsRefused() {
        assertThatThrownBy(() -> Census.of(ModelConfig.parse(
                        "c",
                        "{\"model_type\": \"mixtral\", \"num_hidden_layers\": 100, \"hidden_size\": 50000000,"
                                + " \"intermediate_size\": 100000000}")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("c: expected less than 2^63 parameters but was more");
    }

    @Test
    void aLineThatIsNoneIsRefused() {
        assertThatThrownBy(() -> CensusLine.parse(Role.NORMS, "name [a, b"))
                .hasMessage("census: expected name [size, size] if condition but was name [a, b");
    }
}
