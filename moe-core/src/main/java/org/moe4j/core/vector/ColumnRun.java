package org.moe4j.core.vector;

import java.util.ArrayList;
import java.util.List;

/**
 * Columns of some panels in a row that a sum goes through, one panel after another.
 *
 * @param panel the first
 * @param panels how many
 * @param column the first of each
 * @param columns of each
 */
record ColumnRun(int panel, int panels, int column, int columns) {
    private static final int MOST_PANELS = 4;

    int terms() {
        return panels * columns;
    }

    /**
     * The order of the sums over the outputs of a projection. Where a panel has parts, gate and up, pieces of either take turns; how
     * many outputs are a piece must not depend on how wide a panel is.
     *
     * @param outputs of each part
     * @param panel columns of a panel
     * @param parts 1, or 2
     * @param piece outputs
     */
    static List<ColumnRun> order(int outputs, int panel, int parts, int piece) {
        int ofPart = panel / parts;
        List<ColumnRun> order = new ArrayList<>();
        for (int first = 0; first < outputs; first += piece) {
            int end = Math.min(outputs, first + piece);
            for (int part = 0; part < parts; part++) {
                for (int i = first; i < end; ) {
                    int count = Math.min(ofPart - i % ofPart, end - i);
                    add(order, new ColumnRun(i / ofPart, 1, part * ofPart + i % ofPart, count));
                    i += count;
                }
            }
        }
        return panelsTogether(order, panel);
    }

    private static void add(List<ColumnRun> order, ColumnRun next) {
        if (!order.isEmpty()) {
            ColumnRun last = order.get(order.size() - 1);
            if (last.panel == next.panel && last.column + last.columns == next.column) {
                order.set(order.size() - 1, new ColumnRun(last.panel, 1, last.column, last.columns + next.columns));
                return;
            }
        }
        order.add(next);
    }

    private static List<ColumnRun> panelsTogether(List<ColumnRun> order, int panel) {
        List<ColumnRun> together = new ArrayList<>();
        for (ColumnRun next : order) {
            if (!together.isEmpty() && next.columns == panel) {
                ColumnRun last = together.get(together.size() - 1);
                boolean follows = last.columns == panel && last.panel + last.panels == next.panel;
                if (follows && last.panels < MOST_PANELS) {
                    together.set(together.size() - 1, new ColumnRun(last.panel, last.panels + 1, 0, panel));
                    continue;
                }
            }
            together.add(next);
        }
        return List.copyOf(together);
    }
}
