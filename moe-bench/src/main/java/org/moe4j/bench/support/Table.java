package org.moe4j.bench.support;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Text in rows and columns, in three notations.
 *
 * @param columns headings
 * @param leftColumns how many leading columns hold words and stand left; the others hold numbers and stand right
 * @param rows as many cells each as there are headings
 */
public record Table(List<String> columns, int leftColumns, List<List<String>> rows) {
    /**
     * Copies and checks the rows.
     *
     * @param columns headings
     * @param leftColumns how many leading columns hold words and stand left; the others hold numbers and stand right
     * @param rows as many cells each as there are headings
     */
    public Table {
        columns = List.copyOf(columns);
        rows = rows.stream().map(List::copyOf).toList();
        for (List<String> row : rows) {
            if (row.size() != columns.size()) {
                throw new IllegalArgumentException(
                        "rows: expected " + columns.size() + " cells (columns) but was " + row);
            }
        }
    }

    /**
     * Columns padded to equal width, two blanks apart.
     *
     * @return lines, each ended by a line feed
     */
    public String aligned() {
        List<Integer> widths = widths();
        StringBuilder text = new StringBuilder(alignedLine(columns, widths));
        text.append("-".repeat(widths.stream().mapToInt(width -> width + 2).sum() - 2))
                .append('\n');
        rows.forEach(row -> text.append(alignedLine(row, widths)));
        return text.toString();
    }

    private List<Integer> widths() {
        return IntStream.range(0, columns.size())
                .mapToObj(i -> Math.max(
                        columns.get(i).length(),
                        rows.stream().mapToInt(row -> row.get(i).length()).max().orElse(0)))
                .toList();
    }

    private String alignedLine(List<String> cells, List<Integer> widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < cells.size(); i++) {
            String padding = " ".repeat(widths.get(i) - cells.get(i).length());
            line.append(i == 0 ? "" : "  ");
            line.append(i < leftColumns ? cells.get(i) + padding : padding + cells.get(i));
        }
        return line.toString().stripTrailing() + "\n";
    }

    /**
     * A Markdown table; bars in cells are escaped.
     *
     * @return lines, each ended by a line feed
     */
    public String markdown() {
        StringBuilder text = new StringBuilder(markdownLine(columns));
        text.append(IntStream.range(0, columns.size())
                .mapToObj(i -> i < leftColumns ? ":--" : "--:")
                .collect(Collectors.joining(" | ", "| ", " |\n")));
        rows.forEach(row -> text.append(markdownLine(row)));
        return text.toString();
    }

    private static String markdownLine(List<String> cells) {
        return cells.stream().map(cell -> cell.replace("|", "\\|")).collect(Collectors.joining(" | ", "| ", " |\n"));
    }

    /**
     * Comma-separated values as in RFC 4180, but with plain line feeds: a cell with a comma, a quote or a line break is
     * quoted, a quote in it doubled.
     *
     * @return headings and rows, each ended by a line feed
     */
    public String csv() {
        return IntStream.rangeClosed(0, rows.size())
                .mapToObj(i -> i == 0 ? columns : rows.get(i - 1))
                .map(cells -> cells.stream().map(Table::quoted).collect(Collectors.joining(",", "", "\n")))
                .collect(Collectors.joining());
    }

    private static String quoted(String cell) {
        boolean plain = cell.chars().noneMatch(c -> c == ',' || c == '"' || c == '\n' || c == '\r');
        return plain ? cell : '"' + cell.replace("\"", "\"\"") + '"';
    }
}
