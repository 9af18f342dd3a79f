package org.moe4j.bench.support;

import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.geom.Path2D;
import java.awt.geom.Rectangle2D;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.moe4j.bench.support.HeatFigure.Panel;
import org.moe4j.bench.support.HeatFigure.Side;

/** Draws a {@link HeatFigure}. */
final class HeatFigurePainter {
    /** Of white to dark blue, over green: lighter is less, also for the colour-blind and in print. */
    private static final List<Color> STOPS = List.of(
            new Color(0xf7, 0xfb, 0xf4),
            new Color(0xc4, 0xe6, 0xc3),
            new Color(0x6c, 0xc2, 0xb4),
            new Color(0x2b, 0x85, 0xb0),
            new Color(0x16, 0x3f, 0x7a),
            new Color(0x0b, 0x14, 0x3c));

    /** Colours that are told apart: as many as the eye does, and few enough for one path each. */
    private static final int LEVELS = 48;

    /** Panels of at most so many columns stand in pairs. */
    private static final int MOST_COLUMNS_ABREAST = 64;

    private static final double WIDEST_CELL = 24;

    /** Of cells below long names: wide enough for most names, and for the value itself. */
    private static final double WIDEST_NAMED_CELL = 110;

    private static final double LEAST_CELL_WITH_VALUE = 44;
    private static final double HEIGHT_WITH_VALUE = 26;
    private static final double LOWEST_NAMED_ROW = 14;
    private static final double LOWEST_ROW = 6;
    private static final int MOST_ROWS_NAMED_EACH = 32;

    /** Of a letter of a name, a little more than its mean, as the height of a figure may not depend on a font. */
    private static final double LETTER = 6.8;

    private static final int LONGEST_NAME = 30;
    private static final double NAME_HEIGHT = 13;

    private static final int ABOVE = 34;
    private static final int BELOW = 52;
    private static final int FOOT = 64;
    private static final int LEGEND_WIDTH = 336;
    private static final int LEGEND_HEIGHT = 12;

    private final Pen pen;
    private final HeatFigure figure;

    private HeatFigurePainter(Pen pen, HeatFigure figure) {
        this.pen = pen;
        this.figure = figure;
    }

    static void paint(HeatFigure figure, Graphics2D g) {
        new HeatFigurePainter(new Pen(g), figure).paint();
    }

    static int height(HeatFigure figure) {
        int rows = rowsOfPanels(figure).stream()
                .mapToInt(row -> heightOf(figure, row))
                .sum();
        return Pen.HEAD + rows + FOOT;
    }

    private static int abreast(HeatFigure figure) {
        boolean narrow = figure.panels().stream()
                .allMatch(panel -> panel.columns().names().size() <= MOST_COLUMNS_ABREAST);
        return narrow && figure.panels().size() > 1 ? 2 : 1;
    }

    private static List<List<Panel>> rowsOfPanels(HeatFigure figure) {
        int abreast = abreast(figure);
        List<List<Panel>> rows = new ArrayList<>();
        for (int i = 0; i < figure.panels().size(); i += abreast) {
            rows.add(figure.panels()
                    .subList(i, Math.min(i + abreast, figure.panels().size())));
        }
        return rows;
    }

    private static int heightOf(HeatFigure figure, List<Panel> row) {
        double highest = row.stream()
                .mapToDouble(panel -> Grid.of(panel, panelWidth(figure)).height())
                .max()
                .orElse(0);
        return (int) Math.ceil(highest) + ABOVE + BELOW;
    }

    private static double panelWidth(HeatFigure figure) {
        return (Figure.WIDTH - Pen.MARGIN) / (double) abreast(figure) - Pen.MARGIN;
    }

    /** Sizes of the cells of a panel and of the room left of them. */
    private record Grid(int rows, int columns, double gutter, double cellWidth, double cellHeight) {
        static Grid of(Panel panel, double width) {
            int rows = panel.rows().names().size();
            int columns = panel.columns().names().size();
            double gutter = 22 + longest(panel.rows()) * LETTER + 8;
            double named = Math.min(WIDEST_NAMED_CELL, longest(panel.columns()) * LETTER + 12);
            double widest = Math.max(WIDEST_CELL, named);
            double room = (width - gutter) / columns;
            double cellWidth = Math.min(widest, room < 0.5 ? room : Math.floor(2 * room) / 2);
            double lowest = rows > MOST_ROWS_NAMED_EACH ? LOWEST_ROW : LOWEST_NAMED_ROW;
            double cellHeight = cellWidth >= LEAST_CELL_WITH_VALUE
                    ? HEIGHT_WITH_VALUE
                    : Math.min(WIDEST_CELL, Math.max(lowest, cellWidth));
            return new Grid(rows, columns, gutter, cellWidth, cellHeight);
        }

        boolean hasValues() {
            return cellWidth >= LEAST_CELL_WITH_VALUE;
        }

        double width() {
            return columns * cellWidth;
        }

        double height() {
            return rows * cellHeight;
        }
    }

    private static int longest(Side side) {
        return side.names().stream()
                .mapToInt(name -> Math.min(LONGEST_NAME, name.length()))
                .max()
                .orElse(0);
    }

    private void paint() {
        pen.sheet(height(figure), figure.title(), figure.subtitle());
        double y = Pen.HEAD;
        for (List<Panel> row : rowsOfPanels(figure)) {
            for (int i = 0; i < row.size(); i++) {
                panel(row.get(i), Pen.MARGIN + i * (panelWidth(figure) + Pen.MARGIN), y);
            }
            y += heightOf(figure, row);
        }
        legend(y + 8);
    }

    private void panel(Panel panel, double x, double y) {
        Grid grid = Grid.of(panel, panelWidth(figure));
        double left = x + grid.gutter();
        double top = y + ABOVE;
        pen.text(panel.title(), left, y + 20, Pen.HEADING, Pen.INK, 0);
        cells(panel, grid, left, top);
        if (grid.hasValues()) {
            values(panel, grid, left, top);
        }
        pen.draw(new Rectangle2D.Double(left, top, grid.width(), grid.height()), Pen.SOFT_INK, Pen.HAIR);
        List<String> rows = panel.rows().names();
        int step = step(NAME_HEIGHT, grid.cellHeight());
        for (int row = 0; row < rows.size(); row += step) {
            double baseline = top + (row + 0.5) * grid.cellHeight() + 4;
            pen.text(Pen.shortened(rows.get(row), LONGEST_NAME), left - 8, baseline, Pen.SMALL, Pen.SOFT_INK, 1);
        }
        pen.upwards(panel.rows().label(), x + 12, top + grid.height() / 2);
        columns(panel.columns(), grid, left, top + grid.height());
    }

    private void columns(Side columns, Grid grid, double left, double bottom) {
        int letters = Math.min(longest(columns), Math.max(3, (int)
                ((grid.cellWidth() - 6) / LETTER))); // long names make no others vanish
        int step = step(letters * LETTER + 6, grid.cellWidth());
        for (int column = 0; column < columns.names().size(); column += step) {
            double middle = left + (column + 0.5) * grid.cellWidth();
            pen.line(middle, bottom, middle, bottom + 3, Pen.SOFT_INK, Pen.HAIR);
            String name = Pen.shortened(columns.names().get(column), letters);
            pen.text(name, middle, bottom + 16, Pen.SMALL, Pen.SOFT_INK, 0.5);
        }
        pen.text(columns.label(), left + grid.width() / 2, bottom + 34, Pen.SMALL, Pen.SOFT_INK, 0.5);
    }

    /** The power of two of names of which one is drawn. */
    private static int step(double room, double cell) {
        int step = 1;
        while (step * cell < room) {
            step *= 2;
        }
        return step;
    }

    /** One path per colour, of runs of cells, as one element per cell would make large files. */
    private void cells(Panel panel, Grid grid, double left, double top) {
        List<Path2D> paths = new ArrayList<>();
        for (int level = 0; level < LEVELS; level++) {
            paths.add(new Path2D.Double());
        }
        for (int row = 0; row < grid.rows(); row++) {
            int begin = 0;
            for (int column = 0; column < grid.columns(); column++) {
                int level = level(panel, row, column);
                if (column + 1 == grid.columns() || level(panel, row, column + 1) != level) {
                    double x = left + begin * grid.cellWidth();
                    double y = top + row * grid.cellHeight();
                    double width = (column + 1 - begin) * grid.cellWidth();
                    paths.get(level).append(new Rectangle2D.Double(x, y, width, grid.cellHeight()), false);
                    begin = column + 1;
                }
            }
        }
        pen.sharply(() -> {
            for (int level = 0; level < LEVELS; level++) {
                if (paths.get(level).getCurrentPoint() != null) {
                    pen.fill(paths.get(level), color(level));
                }
            }
        });
    }

    private void values(Panel panel, Grid grid, double left, double top) {
        for (int row = 0; row < grid.rows(); row++) {
            for (int column = 0; column < grid.columns(); column++) {
                double middle = left + (column + 0.5) * grid.cellWidth();
                double baseline = top + (row + 0.5) * grid.cellHeight() + 4;
                String value = String.format(
                        Locale.ROOT, "%.3f", panel.values().get(row).get(column));
                boolean dark = level(panel, row, column) > LEVELS / 2;
                pen.text(value, middle, baseline, Pen.SMALL, dark ? Color.WHITE : Pen.INK, 0.5);
            }
        }
    }

    private int level(Panel panel, int row, int column) {
        double share = figure.scale().share(panel.values().get(row).get(column));
        return (int) Math.round(share * (LEVELS - 1));
    }

    static Color color(int level) {
        double place = level / (double) (LEVELS - 1) * (STOPS.size() - 1);
        int stop = Math.min((int) place, STOPS.size() - 2);
        Color low = STOPS.get(stop);
        Color high = STOPS.get(stop + 1);
        double share = place - stop;
        return new Color(
                between(low.getRed(), high.getRed(), share),
                between(low.getGreen(), high.getGreen(), share),
                between(low.getBlue(), high.getBlue(), share));
    }

    private static int between(int low, int high, double share) {
        return (int) Math.round(low + share * (high - low));
    }

    private void legend(double top) {
        double left = Pen.MARGIN + 30;
        double width = LEGEND_WIDTH / (double) LEVELS;
        pen.sharply(() -> {
            for (int level = 0; level < LEVELS; level++) {
                pen.fill(new Rectangle2D.Double(left + level * width, top, width, LEGEND_HEIGHT), color(level));
            }
        });
        pen.draw(new Rectangle2D.Double(left, top, LEGEND_WIDTH, LEGEND_HEIGHT), Pen.SOFT_INK, Pen.HAIR);
        for (double tick : figure.scale().ticks()) {
            double x = left + figure.scale().share(tick) * LEGEND_WIDTH;
            pen.line(x, top + LEGEND_HEIGHT, x, top + LEGEND_HEIGHT + 4, Pen.SOFT_INK, Pen.HAIR);
            String label = LineFigurePainter.label(tick, figure.scale());
            pen.text(label, x, top + LEGEND_HEIGHT + 18, Pen.SMALL, Pen.SOFT_INK, 0.5);
        }
        pen.text(figure.scale().label(), left + LEGEND_WIDTH + 24, top + 11, Pen.TEXT, Pen.INK, 0);
    }
}
