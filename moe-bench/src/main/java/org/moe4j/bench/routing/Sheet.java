package org.moe4j.bench.routing;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.moe4j.bench.support.Decimal;
import org.moe4j.bench.support.Table;

/**
 * A table of typed cells: text, JSON, CSV and HTML are made of the same.
 *
 * @param key its name in JSON and in the name of its CSV file
 * @param title what it shows, one line
 * @param leftColumns how many leading columns hold words or names and stand left
 * @param columns at least one
 * @param rows one cell per column
 */
public record Sheet(String key, String title, int leftColumns, List<Column> columns, List<List<Cell>> rows) {
    /**
     * Copies the lists and checks the rows.
     *
     * @param key its name in JSON and in the name of its CSV file
     * @param title what it shows, one line
     * @param leftColumns how many leading columns hold words or names and stand left
     * @param columns at least one
     * @param rows one cell per column
     */
    public Sheet {
        columns = List.copyOf(columns);
        rows = rows.stream().map(List::copyOf).toList();
        for (List<Cell> row : rows) {
            if (row.size() != columns.size()) {
                throw new IllegalArgumentException(
                        key + ": expected " + columns.size() + " cells (columns) but was " + row.size());
            }
        }
    }

    /** As people read it. */
    Table shown() {
        return new Table(
                columns.stream().map(Column::heading).toList(),
                leftColumns,
                rows.stream().map(this::shown).toList());
    }

    private List<String> shown(List<Cell> row) {
        String[] cells = new String[row.size()];
        for (int i = 0; i < cells.length; i++) {
            cells[i] = columns.get(i).shown(row.get(i));
        }
        return List.of(cells);
    }

    /** With all digits, under the keys of the columns. */
    Table exact() {
        return new Table(
                columns.stream().map(Column::key).toList(),
                leftColumns,
                rows.stream()
                        .map(row -> row.stream().map(Sheet::exact).toList())
                        .toList());
    }

    private static String exact(Cell cell) {
        if (cell instanceof Cell.Count count) {
            return Long.toString(count.value());
        }
        if (cell instanceof Cell.Real real) {
            return Decimal.of(real.value());
        }
        return cell instanceof Cell.Text text ? text.value() : "";
    }

    /** One object per row. */
    ArrayNode json() {
        ArrayNode array = JsonNodeFactory.instance.arrayNode();
        for (List<Cell> row : rows) {
            ObjectNode object = array.addObject();
            for (int i = 0; i < columns.size(); i++) {
                put(object, columns.get(i).key(), row.get(i));
            }
        }
        return array;
    }

    private static void put(ObjectNode object, String key, Cell cell) {
        if (cell instanceof Cell.Count count) {
            object.put(key, count.value());
        } else if (cell instanceof Cell.Real real) {
            object.put(key, real.value());
        } else if (cell instanceof Cell.Text text) {
            object.put(key, text.value());
        } else {
            object.putNull(key);
        }
    }
}
