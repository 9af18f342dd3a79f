package org.moe4j.checkpoint.census;

import java.util.Map;
import java.util.OptionalLong;
import java.util.SortedSet;
import java.util.TreeSet;
import org.moe4j.checkpoint.config.ModelConfig;

/**
 * A size as a formula over the keys of a configuration: whole numbers, keys, names of other formulas, {@code +}, {@code *}, {@code /}
 * where nothing remains, parentheses, and {@code a | b}, which is b where a key that a needs is not there.
 */
sealed interface SizeFormula {
    /**
     * What names stand for.
     *
     * @param config a name is one of its keys
     * @param named unless a formula has this name
     */
    record Scope(ModelConfig config, Map<String, SizeFormula> named) {}

    /** Its value; empty where a key is not there. */
    OptionalLong value(Scope scope);

    /** The keys that it needs and that are not there. */
    SortedSet<String> absent(Scope scope);

    /** Reads a formula. */
    static SizeFormula parse(String text) {
        return new SizeFormulaReader(text).whole();
    }

    /** A number. */
    record Constant(long number) implements SizeFormula {
        @Override
        public OptionalLong value(Scope scope) {
            return OptionalLong.of(number);
        }

        @Override
        public SortedSet<String> absent(Scope scope) {
            return new TreeSet<>();
        }
    }

    /** A key, or another formula. */
    record Name(String name) implements SizeFormula {
        @Override
        public OptionalLong value(Scope scope) {
            SizeFormula formula = scope.named().get(name);
            if (formula != null) {
                return formula.value(scope);
            }
            String text = scope.config().text(name).orElse("");
            if (text.isEmpty()) {
                return OptionalLong.empty();
            }
            if (!text.matches("[0-9]{1,10}")) {
                throw scope.config().wrong(name, "a size", text);
            }
            return OptionalLong.of(Long.parseLong(text));
        }

        @Override
        public SortedSet<String> absent(Scope scope) {
            SizeFormula formula = scope.named().get(name);
            if (formula != null) {
                return formula.absent(scope);
            }
            SortedSet<String> absent = new TreeSet<>();
            if (value(scope).isEmpty()) {
                absent.add(name);
            }
            return absent;
        }
    }

    /** Two formulas and a sign. */
    record Pair(char sign, SizeFormula left, SizeFormula right) implements SizeFormula {
        @Override
        public OptionalLong value(Scope scope) {
            OptionalLong first = left.value(scope);
            if (sign == '|' && first.isPresent()) {
                return first;
            }
            OptionalLong second = right.value(scope);
            if (sign == '|' || first.isEmpty() || second.isEmpty()) {
                return sign == '|' ? second : OptionalLong.empty();
            }
            return OptionalLong.of(result(scope, first.getAsLong(), second.getAsLong()));
        }

        private long result(Scope scope, long a, long b) {
            if (sign == '/' && (b == 0 || a % b != 0)) {
                throw scope.config().wrong(this.toString(), "a quotient without a rest", a + "/" + b);
            }
            try {
                return switch (sign) {
                    case '+' -> Math.addExact(a, b);
                    case '*' -> Math.multiplyExact(a, b);
                    default -> a / b;
                };
            } catch (ArithmeticException e) {
                throw scope.config().wrong(this.toString(), "less than 2^63", a + " " + sign + " " + b);
            }
        }

        @Override
        public SortedSet<String> absent(Scope scope) {
            SortedSet<String> absent = new TreeSet<>();
            if (value(scope).isEmpty()) {
                absent.addAll(left.absent(scope));
                absent.addAll(right.absent(scope));
            }
            return absent;
        }

        @Override
        public String toString() {
            return shown(left) + " " + sign + " " + shown(right);
        }

        private static String shown(SizeFormula side) {
            if (side instanceof Name key) {
                return key.name();
            }
            return side instanceof Constant constant ? Long.toString(constant.number()) : "(" + side + ")";
        }
    }
}
