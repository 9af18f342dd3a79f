package org.moe4j.checkpoint.census;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.checkpoint.layout.Layout;
import org.moe4j.core.internal.Require;

/**
 * The lines {@code census.…} of a layout.
 *
 * <ul>
 *   <li>{@code census.ROLE} and {@code census.ROLE.word}: a {@link CensusLine}
 *   <li>{@code census.let.name}: a {@link SizeFormula} that others call by this name
 *   <li>{@code census.layers}: what the names of all tensors of a layer begin with
 *   <li>{@code census.prediction}: what the names of tensors begin with that only predict further tokens
 *   <li>{@code census.scales}: what is put behind the name of a tensor of 8 bits to name its scales
 * </ul>
 *
 * @param lines tensors outside the MoE layers
 * @param scope for their formulas
 * @param layers pattern with a star
 * @param prediction patterns with a star
 * @param scales end of a name; empty where the family has none
 */
record CensusLines(
        List<CensusLine> lines,
        SizeFormula.Scope scope,
        Optional<String> layers,
        List<String> prediction,
        Optional<String> scales) {
    private static final List<String> WORDS = List.of("layers", "prediction", "scales");

    static CensusLines of(Layout layout, ModelConfig config) {
        List<CensusLine> lines = new ArrayList<>();
        Map<String, SizeFormula> named = new HashMap<>();
        Map<String, String> words = new HashMap<>();
        layout.censusLines().forEach((key, text) -> {
            try {
                String head = key.split("\\.", 2)[0];
                Optional<Role> role = Role.named(head);
                if (head.equals("let")) {
                    named.put(key.substring("let.".length()), SizeFormula.parse(text));
                } else if (role.isPresent()) {
                    lines.add(CensusLine.parse(role.get(), text));
                } else if (WORDS.contains(key)) {
                    words.put(key, text);
                } else {
                    throw Require.expected("key", "let, a role or one of " + WORDS, key);
                }
            } catch (IllegalArgumentException fault) {
                throw new IllegalArgumentException(
                        "layout " + layout.id() + ": census." + key + ": " + fault.getMessage(), fault);
            }
        });
        return new CensusLines(
                List.copyOf(lines),
                new SizeFormula.Scope(config, Map.copyOf(named)),
                Optional.ofNullable(words.get("layers")),
                Optional.ofNullable(words.get("prediction")).stream().toList(),
                Optional.ofNullable(words.get("scales")));
    }
}
