package org.moe4j.bench.routing;

import java.util.List;
import org.moe4j.bench.support.Table;

/** Parts of an HTML page. Text is others' text and is escaped here; nothing else may write it. */
final class Html {
    private Html() {}

    /** Text as content of an element or of an attribute in double quotes. */
    static String escaped(String text) {
        StringBuilder safe = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '&' -> safe.append("&amp;");
                case '<' -> safe.append("&lt;");
                case '>' -> safe.append("&gt;");
                case '"' -> safe.append("&quot;");
                case '\'' -> safe.append("&#39;");
                default -> safe.append(c);
            }
        }
        return safe.toString();
    }

    /** An element with text in it. */
    static String element(String tag, String text) {
        return "<" + tag + ">" + escaped(text) + "</" + tag + ">\n";
    }

    /** A table whose leading cells name their row where they hold words. */
    static String table(String caption, Table table) {
        StringBuilder html = new StringBuilder("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"")
                .append(escaped(caption))
                .append("\"><table>\n")
                .append(element("caption", caption))
                .append("<thead><tr>");
        List<String> columns = table.columns();
        for (int i = 0; i < columns.size(); i++) {
            html.append(i < table.leftColumns() ? "<th scope=\"col\" class=\"left\">" : "<th scope=\"col\">")
                    .append(escaped(columns.get(i)))
                    .append("</th>");
        }
        html.append("</tr></thead>\n<tbody>\n");
        for (List<String> row : table.rows()) {
            html.append("<tr>");
            for (int i = 0; i < row.size(); i++) {
                boolean left = i < table.leftColumns();
                html.append(left ? "<th scope=\"row\">" : "<td>")
                        .append(escaped(row.get(i)))
                        .append(left ? "</th>" : "</td>");
            }
            html.append("</tr>\n");
        }
        return html.append("</tbody></table></div>\n").toString();
    }

    /** A drawing, which is an SVG element, with words below. */
    static String figure(String drawing, String caption) {
        return "<figure>" + drawing.strip() + "\n" + element("figcaption", caption) + "</figure>\n";
    }

    /** Text of others as one line that a terminal, XML and a reader from left to right can bear, of at most so many letters. */
    static String line(String text, int letters) {
        StringBuilder line = new StringBuilder();
        text.codePoints().limit(letters).forEach(c -> line.appendCodePoint(isPlain(c) ? c : '?'));
        return line.append(text.codePointCount(0, text.length()) > letters ? "…" : "")
                .toString();
    }

    private static boolean isPlain(int c) {
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> false;
            default -> true;
        };
    }
}
