package org.moe4j.checkpoint.config;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.moe4j.core.internal.Require;

/**
 * How a setting follows from a configuration. In words, with blanks anywhere:
 *
 * <pre>
 * 'text'                         this very text
 * key                            the value of a key, which has to be there
 * key, other                     of the first of these keys that is there; two different values are refused, unless of lists
 * key | text                     this text when no key is there; null is refused unless the text is none, absent or a list
 * key | none                     no setting when no key is there
 * … -&gt; from: to, *: to           other words for the values, also for null; others are refused unless there is a star
 * sqrt rule / rule               the root of a quotient
 * rule * rule                    a product of numbers; one may be a root
 * … if rule = text               no setting unless another rule gives this text; several such conditions have all to hold
 * … if rule != text              no setting if it gives this text
 * </pre>
 */
public sealed interface ConfigRule {
    /** Characters of the longest rule: rules are within rules, and each takes room on the stack. */
    int LONGEST = 4096;

    /**
     * Applies the rule.
     *
     * @param config of a model
     * @return the setting; empty where the rule gives none
     * @throws IllegalArgumentException when a key is absent that has to be there, or has a value that is not known
     */
    Optional<String> apply(ModelConfig config);

    /**
     * What messages call it.
     *
     * @return the keys that it looks up, mostly
     */
    String key();

    /**
     * Reads a rule.
     *
     * @param text in the notation above
     * @return the rule
     * @throws IllegalArgumentException when it is not in this notation
     */
    static ConfigRule parse(String text) {
        if (text.length() > LONGEST) {
            throw Require.expected("rule", "at most " + LONGEST + " characters", text.length());
        }
        int condition = text.lastIndexOf(" if ");
        if (condition >= 0) {
            return Conditional.parse(text, condition);
        }
        String trimmed = text.trim();
        if (trimmed.startsWith("'")) {
            if (trimmed.length() < 2 || !trimmed.endsWith("'")) {
                throw Require.expected("rule", "text between quotes", text);
            }
            return new Literal(trimmed.substring(1, trimmed.length() - 1));
        }
        if (trimmed.contains(" * ")) {
            List<ConfigRule> factors = new ArrayList<>();
            for (String factor : trimmed.split(" \\* ", -1)) {
                factors.add(parse(factor));
            }
            return new Product(factors);
        }
        if (trimmed.startsWith("sqrt ")) {
            String[] sides = trimmed.substring("sqrt ".length()).split(" / ", -1);
            if (sides.length != 2) {
                throw Require.expected("rule", "sqrt rule / rule", text);
            }
            return new Root(parse(sides[0]), parse(sides[1]));
        }
        return Lookup.parse(trimmed);
    }

    /** The number that a rule gives. */
    private static double number(ConfigRule rule, ModelConfig config) {
        String text = rule.apply(config).orElse("absent");
        try {
            return Double.parseDouble(text);
        } catch (NumberFormatException e) {
            throw config.wrong(rule.key(), "a number", text);
        }
    }

    /**
     * A text.
     *
     * @param text the setting
     */
    record Literal(String text) implements ConfigRule {
        @Override
        public String key() {
            return "'" + text + "'";
        }

        @Override
        public Optional<String> apply(ModelConfig config) {
            return Optional.of(text);
        }
    }

    /**
     * The value of a key.
     *
     * @param keys of which the first that is there counts
     * @param fallback when none is there
     * @param words other words for values; empty for none
     */
    record Lookup(List<String> keys, Optional<String> fallback, Map<String, String> words) implements ConfigRule {
        private static final String NONE = "none";
        private static final String ANY = "*";
        private static final String NULL = "null";

        static Lookup parse(String text) {
            String[] sides = text.split("->", -1);
            String[] parts = sides[0].split("\\|", -1);
            if (sides.length > 2 || parts.length > 2) {
                throw Require.expected("rule", "keys | text -> from: to, …", text);
            }
            Optional<String> fallback = parts.length == 2 ? Optional.of(parts[1].trim()) : Optional.empty();
            return new Lookup(names(text, parts[0]), fallback, sides.length == 2 ? words(text, sides[1]) : Map.of());
        }

        private static List<String> names(String rule, String text) {
            List<String> names = new ArrayList<>();
            for (String name : text.split(",", -1)) {
                if (!name.trim().matches("[A-Za-z0-9_.]+")) {
                    throw Require.expected("rule", "names of keys", rule);
                }
                names.add(name.trim());
            }
            return List.copyOf(names);
        }

        private static Map<String, String> words(String rule, String text) {
            Map<String, String> words = new LinkedHashMap<>();
            for (String pair : text.split(",", -1)) {
                String[] sides = pair.split(":", -1);
                if (sides.length != 2 || words.put(sides[0].trim(), sides[1].trim()) != null) {
                    throw Require.expected("rule", "different words with a colon between each two", rule);
                }
            }
            return words;
        }

        @Override
        public String key() {
            return String.join(" or ", keys);
        }

        @Override
        public Optional<String> apply(ModelConfig config) {
            String value = valueOf(config).orElseGet(() -> withoutValue(config));
            if (value.equals(NONE)) {
                return Optional.empty();
            }
            if (words.isEmpty()) {
                return Optional.of(value);
            }
            String word = words.getOrDefault(value, words.get(ANY));
            if (word == null) {
                throw config.wrong(key(), "one of " + words.keySet(), value);
            }
            return Optional.of(word);
        }

        /** The value of the first key that has one; two names of one setting have to agree. */
        private Optional<String> valueOf(ModelConfig config) {
            List<String> values =
                    keys.stream().map(config::text).flatMap(Optional::stream).toList();
            boolean agree = values.stream().allMatch(value -> value.equals(values.get(0)) || isList(values));
            if (!agree) {
                throw config.wrong(key(), "one value", String.join(" and ", values));
            }
            return values.stream().findFirst();
        }

        /** Whether one of the values is a list, which may say the same as a word. */
        private static boolean isList(List<String> values) {
            return values.stream().anyMatch(value -> value.startsWith("["));
        }

        /** What a key without a value means: an absent key has its default, and null only where the rule allows for it. */
        private String withoutValue(ModelConfig config) {
            boolean isNull = keys.stream().anyMatch(config::isNull);
            if (isNull && words.containsKey(NULL)) {
                return NULL;
            }
            if (fallback.isEmpty() || (isNull && !standsForNull(fallback.get()))) {
                throw config.wrong(key(), "a value", isNull ? NULL : "absent");
            }
            return fallback.get();
        }

        private static boolean standsForNull(String text) {
            return text.equals(NONE) || text.equals("absent") || text.startsWith("[");
        }
    }

    /**
     * A product.
     *
     * @param factors give numbers
     */
    record Product(List<ConfigRule> factors) implements ConfigRule {
        @Override
        public String key() {
            return factors.stream().map(ConfigRule::key).collect(Collectors.joining(" * "));
        }

        @Override
        public Optional<String> apply(ModelConfig config) {
            double product = 1;
            for (ConfigRule factor : factors) {
                product *= number(factor, config);
            }
            return Optional.of(Double.toString(product));
        }
    }

    /**
     * The root of a quotient.
     *
     * @param above gives a number
     * @param below gives a number
     */
    record Root(ConfigRule above, ConfigRule below) implements ConfigRule {
        @Override
        public String key() {
            return "sqrt " + above.key() + " / " + below.key();
        }

        @Override
        public Optional<String> apply(ModelConfig config) {
            return Optional.of(Double.toString(Math.sqrt(number(above, config) / number(below, config))));
        }
    }

    /**
     * A rule that gives a setting under a condition only.
     *
     * @param rule gives the setting
     * @param asked gives what is compared
     * @param text with what it is compared
     * @param equal whether they have to be equal, or to differ
     */
    record Conditional(ConfigRule rule, ConfigRule asked, String text, boolean equal) implements ConfigRule {
        static Conditional parse(String text, int at) {
            String condition = text.substring(at + " if ".length());
            int equals = condition.lastIndexOf('=');
            if (equals < 1) {
                throw Require.expected("rule", "rule = text, or rule != text, after if", text);
            }
            boolean equal = condition.charAt(equals - 1) != '!';
            return new Conditional(
                    ConfigRule.parse(text.substring(0, at)),
                    ConfigRule.parse(condition.substring(0, equal ? equals : equals - 1)),
                    condition.substring(equals + 1).trim(),
                    equal);
        }

        @Override
        public String key() {
            return rule.key();
        }

        @Override
        public Optional<String> apply(ModelConfig config) {
            boolean equals = asked.apply(config).equals(Optional.of(text));
            return equals == equal ? rule.apply(config) : Optional.empty();
        }
    }
}
