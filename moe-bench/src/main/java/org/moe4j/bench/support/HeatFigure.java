package org.moe4j.bench.support;

import java.awt.Graphics2D;
import java.util.List;

/**
 * A figure of panels with a matrix of coloured cells each; what is drawn, not how. Two panels stand side by side when their columns
 * leave room for it.
 *
 * @param title of the whole figure
 * @param subtitle how the numbers came about, one line
 * @param scale what the colours mean; values beyond its ends have the colour of the end
 * @param panels from left to right and top to bottom
 */
public record HeatFigure(String title, String subtitle, LineFigure.Axis scale, List<Panel> panels) implements Figure {
    /**
     * Copies the list.
     *
     * @param title of the whole figure
     * @param subtitle how the numbers came about, one line
     * @param scale what the colours mean; values beyond its ends have the colour of the end
     * @param panels from left to right and top to bottom
     */
    public HeatFigure {
        panels = List.copyOf(panels);
    }

    @Override
    public int height() {
        return HeatFigurePainter.height(this);
    }

    @Override
    public void paint(Graphics2D g) {
        HeatFigurePainter.paint(this, g);
    }

    /**
     * One matrix.
     *
     * @param title above it
     * @param rows names at the left
     * @param columns names below
     * @param values one list per row, with one finite number per column
     */
    public record Panel(String title, Side rows, Side columns, List<List<Double>> values) {
        /**
         * Copies the lists and checks their sizes.
         *
         * @param title above it
         * @param rows names at the left
         * @param columns names below
         * @param values one list per row, with one finite number per column
         */
        public Panel {
            values = values.stream().map(List::copyOf).toList();
            requireCount(title, "rows", rows.names().size(), values.size());
            for (List<Double> row : values) {
                requireCount(title, "columns", columns.names().size(), row.size());
            }
        }

        /**
         * The largest value.
         *
         * @return of all cells
         */
        public double largest() {
            return values.stream()
                    .flatMap(List::stream)
                    .mapToDouble(value -> value)
                    .max()
                    .orElseThrow();
        }

        private static void requireCount(String title, String what, int names, int values) {
            if (names == 0 || values != names) {
                throw new IllegalArgumentException(title + ": expected as many values as names (" + what
                        + "), at least 1, but was " + values + " for " + names);
            }
        }
    }

    /**
     * Names along one side of a matrix. Where they stand closer than they can be read, every second, fourth, … is drawn.
     *
     * @param label what the names are
     * @param names one per row or column
     */
    public record Side(String label, List<String> names) {
        /**
         * Copies the list.
         *
         * @param label what the names are
         * @param names one per row or column
         */
        public Side {
            names = List.copyOf(names);
        }
    }
}
