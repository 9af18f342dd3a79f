package org.moe4j.checkpoint.config;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** What Jazzer calls with each input: a rule up to the first line break, behind it a configuration that it is applied to. */
public final class ModelConfigFuzz {
    private ModelConfigFuzz() {}

    /**
     * Applies a rule, which has to give text or be refused.
     *
     * @param input any bytes
     */
    public static void fuzzerTestOneInput(byte[] input) {
        String text = new String(input, StandardCharsets.UTF_8);
        int line = text.indexOf('\n');
        try {
            ModelConfig config = ModelConfig.parse("fuzz", text.substring(line + 1));
            config.text("num_experts");
            config.isNull("rope.factor");
            ConfigRule rule = ConfigRule.parse(text.substring(0, Math.max(0, line)));
            if (rule.key().isEmpty()) {
                throw new AssertionError("expected a name of the rule");
            }
            rule.apply(config);
        } catch (IOException | IllegalArgumentException e) {
            if (e.getMessage() == null || !e.getMessage().contains("expected ")) {
                throw new AssertionError("expected a message that says what was expected", e);
            }
        }
    }
}
