package org.moe4j.checkpoint.census;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.moe4j.core.internal.Require;

/** Reads a {@link SizeFormula}: products bind closer than sums, sums closer than alternatives; equal signs from left to right. */
final class SizeFormulaReader {
    private static final Pattern WORD = Pattern.compile("[A-Za-z_][A-Za-z0-9_.]*|[0-9]{1,18}|[+*/|()]|\\S");
    private static final List<String> SIGNS = List.of("|", "+", "*/");

    private final String text;
    private final Deque<String> words = new ArrayDeque<>();

    SizeFormulaReader(String text) {
        this.text = text;
        Matcher matcher = WORD.matcher(text);
        while (matcher.find()) {
            words.add(matcher.group());
        }
    }

    SizeFormula whole() {
        SizeFormula formula = level(0);
        if (!words.isEmpty()) {
            throw wrong();
        }
        return formula;
    }

    private SizeFormula level(int depth) {
        if (depth == SIGNS.size()) {
            return single();
        }
        SizeFormula formula = level(depth + 1);
        while (!words.isEmpty() && SIGNS.get(depth).contains(words.element())) {
            char sign = words.remove().charAt(0);
            formula = new SizeFormula.Pair(sign, formula, level(depth + 1));
        }
        return formula;
    }

    private SizeFormula single() {
        String word = words.isEmpty() ? "" : words.remove();
        if (word.equals("(")) {
            SizeFormula formula = level(0);
            if (words.isEmpty() || !words.remove().equals(")")) {
                throw wrong();
            }
            return formula;
        }
        if (word.matches("[0-9]+")) {
            return new SizeFormula.Constant(Long.parseLong(word));
        }
        if (word.matches("[A-Za-z_].*")) {
            return new SizeFormula.Name(word);
        }
        throw wrong();
    }

    private IllegalArgumentException wrong() {
        return Require.expected("size", "numbers, names, + * / | and parentheses", text);
    }
}
