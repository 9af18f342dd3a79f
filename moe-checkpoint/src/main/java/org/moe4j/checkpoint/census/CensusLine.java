package org.moe4j.checkpoint.census;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.moe4j.checkpoint.config.ConfigRule;
import org.moe4j.checkpoint.config.ModelConfig;
import org.moe4j.core.internal.Require;

/**
 * A tensor outside the MoE layers, or one in each of some layers: a line {@code name [size, size] if condition} of a layout, with
 * conditions as in {@link ConfigRule}. Without sizes the name alone is known.
 *
 * @param role what it is for
 * @param name a pattern
 * @param sizes of its axes; empty where they do not follow from the configuration
 * @param condition gives something where a model has the tensor
 */
record CensusLine(Role role, String name, List<SizeFormula> sizes, ConfigRule condition) {
    private static final Pattern NOTATION = Pattern.compile("\\s*(\\S+)(?:\\s+\\[(.+)\\])?\\s*");

    static CensusLine parse(Role role, String text) {
        int at = text.indexOf(" if ");
        Matcher matcher = NOTATION.matcher(at < 0 ? text : text.substring(0, at));
        if (!matcher.matches()) {
            throw Require.expected("census", "name [size, size] if condition", text);
        }
        List<SizeFormula> sizes = new ArrayList<>();
        if (matcher.group(2) != null) {
            for (String size : matcher.group(2).split(",", -1)) {
                sizes.add(SizeFormula.parse(size));
            }
        }
        String condition = at < 0 ? "" : text.substring(at);
        return new CensusLine(role, matcher.group(1), List.copyOf(sizes), ConfigRule.parse("'there'" + condition));
    }

    /** Whether a model has it. */
    boolean in(ModelConfig config) {
        return condition.apply(config).isPresent();
    }

    /** Whether it is in each layer of a kind. */
    boolean perLayer() {
        return name.contains("{layer}");
    }

    /** How many numbers one of it has; empty where that does not follow from the configuration. */
    OptionalLong elements(SizeFormula.Scope scope) {
        long elements = 1;
        for (SizeFormula size : sizes) {
            OptionalLong length = size.value(scope);
            if (length.isEmpty()) {
                return length;
            }
            elements = Math.multiplyExact(elements, length.getAsLong());
        }
        return sizes.isEmpty() ? OptionalLong.empty() : OptionalLong.of(elements);
    }

    /** Why {@link #elements} is empty. */
    String reason(SizeFormula.Scope scope) {
        SortedSet<String> absent = new TreeSet<>();
        sizes.forEach(size -> absent.addAll(size.absent(scope)));
        return absent.isEmpty()
                ? "the sizes of its tensors do not follow from the configuration"
                : "the configuration has no " + String.join(", ", absent);
    }
}
