package org.moe4j.bench.support;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.geom.Path2D;
import java.awt.geom.Rectangle2D;
import java.util.List;
import java.util.Locale;
import org.moe4j.bench.support.BarFigure.Bar;
import org.moe4j.bench.support.BarFigure.Panel;

/** Draws a {@link BarFigure}. */
final class BarFigurePainter {
    private static final int PANEL_HEIGHT = 392;
    private static final int FOOT = 48;
    private static final int COLUMNS = 2;

    private static final List<Color> FILLS = List.of(new Color(0x6f, 0xa8, 0xc7), new Color(0xec, 0xb0, 0x66));

    private static final double TICK = 0.2;
    private static final double MARK = 5.5;
    private static final BasicStroke MARK_STROKE = new BasicStroke(1.4f);
    private static final double WIDEST_BAR = 64;

    private final Pen pen;
    private final BarFigure figure;

    private BarFigurePainter(Pen pen, BarFigure figure) {
        this.pen = pen;
        this.figure = figure;
    }

    static int height(BarFigure figure) {
        return Pen.HEAD + rows(figure) * PANEL_HEIGHT + FOOT;
    }

    private static int rows(BarFigure figure) {
        return (figure.panels().size() + COLUMNS - 1) / COLUMNS;
    }

    static void paint(BarFigure figure, Graphics2D g) {
        new BarFigurePainter(new Pen(g), figure).paint();
    }

    private void paint() {
        pen.sheet(height(figure), figure.title(), figure.subtitle());
        double width = (Figure.WIDTH - Pen.MARGIN) / (double) COLUMNS;
        for (int i = 0; i < figure.panels().size(); i++) {
            int row = i / COLUMNS;
            double x = Pen.MARGIN + i % COLUMNS * width;
            panel(figure.panels().get(i), x, Pen.HEAD + row * PANEL_HEIGHT, width - Pen.MARGIN);
        }
        legend(height(figure) - FOOT / 2.0);
    }

    private void panel(Panel panel, double x, double y, double width) {
        pen.text(panel.title(), x, y + 20, Pen.HEADING, Pen.INK, 0);
        if (panel.series().size() > 1) {
            double at = x + 56;
            for (int i = 0; i < panel.series().size(); i++) {
                at = pen.swatch(FILLS.get(i), panel.series().get(i).name(), at, y + 42);
            }
        }
        Plot plot = new Plot(x + 56, y + 56, width - 56, PANEL_HEIGHT - 116, panel.top());
        axis(panel, plot, x);
        bars(panel, plot, this::fill);
        reference(panel, plot);
        bars(panel, plot, this::marks); // on top of the reference line
        for (int group = 0; group < figure.groups().size(); group++) {
            double center =
                    plot.x() + (group + 0.5) * plot.width() / figure.groups().size();
            List<String> lines = figure.groups().get(group);
            for (int line = 0; line < lines.size(); line++) {
                double baseline = plot.bottom() + 18 + 16 * line;
                pen.text(
                        lines.get(line),
                        center,
                        baseline,
                        line == 0 ? Pen.SMALL : Pen.SMALLEST,
                        line == 0 ? Pen.INK : Pen.SOFT_INK,
                        0.5);
            }
        }
    }

    /** Where the bars of a panel stand. */
    private record Plot(double x, double y, double width, double height, double top) {
        double at(double value) {
            return bottom() - value / top * height;
        }

        double bottom() {
            return y + height;
        }
    }

    private void axis(Panel panel, Plot plot, double left) {
        for (int i = 0; i * TICK <= panel.top() + 1e-9; i++) {
            double y = plot.at(i * TICK);
            pen.line(plot.x(), y, plot.x() + plot.width(), y, i == 0 ? Pen.INK : Pen.GRID, Pen.HAIR);
            pen.text(String.format(Locale.ROOT, "%.1f", i * TICK), plot.x() - 8, y + 4, Pen.SMALL, Pen.SOFT_INK, 1);
        }
        pen.upwards(panel.axis(), left + 12, plot.y() + plot.height() / 2);
    }

    private void reference(Panel panel, Plot plot) {
        panel.reference().ifPresent(label -> {
            double y = plot.at(1);
            pen.line(plot.x(), y, plot.x() + plot.width(), y, Pen.INK, Pen.DASHED);
            pen.text(label, plot.x() + plot.width(), y - 6, Pen.SMALL, Pen.INK, 1);
        });
    }

    /** Draws a part of one bar. */
    private interface BarPart {
        void draw(Bar bar, Color color, double middle, double width, Plot plot);
    }

    private void bars(Panel panel, Plot plot, BarPart part) {
        double groupWidth = plot.width() / figure.groups().size();
        int series = panel.series().size();
        double width = Math.min(WIDEST_BAR, groupWidth * 0.76 / series);
        for (int group = 0; group < figure.groups().size(); group++) {
            double center = plot.x() + (group + 0.5) * groupWidth;
            for (int i = 0; i < series; i++) {
                double middle = center + (i - (series - 1) / 2.0) * (width + 3);
                part.draw(panel.series().get(i).bars().get(group), FILLS.get(i), middle, width, plot);
            }
        }
    }

    private void fill(Bar bar, Color color, double middle, double width, Plot plot) {
        double y = plot.at(bar.value());
        pen.fill(new Rectangle2D.Double(middle - width / 2, y, width, plot.bottom() - y), color);
    }

    private void marks(Bar bar, Color color, double middle, double width, Plot plot) {
        whisker(middle - width / 4, plot.at(bar.low()), plot.at(bar.high()));
        bar.marker().ifPresent(value -> diamond(middle + width / 4, plot.at(value)));
        double highest =
                Math.max(Math.max(bar.value(), bar.high()), bar.marker().orElse(0));
        String label = String.format(Locale.ROOT, "%.3f", bar.value());
        pen.text(label, middle, plot.at(highest) - MARK - 4, Pen.SMALL, Pen.INK, 0.5);
    }

    private void whisker(double x, double low, double high) {
        pen.line(x, low, x, high, Pen.INK, MARK_STROKE);
        pen.line(x - MARK, low, x + MARK, low, Pen.INK, MARK_STROKE);
        pen.line(x - MARK, high, x + MARK, high, Pen.INK, MARK_STROKE);
    }

    private void diamond(double x, double y) {
        Path2D path = new Path2D.Double();
        path.moveTo(x, y - MARK);
        path.lineTo(x + MARK, y);
        path.lineTo(x, y + MARK);
        path.lineTo(x - MARK, y);
        path.closePath();
        pen.fill(path, Color.WHITE);
        pen.draw(path, Pen.INK, MARK_STROKE);
    }

    private void legend(double y) {
        double x = pen.swatch(FILLS.get(0), figure.legend().bar(), Pen.MARGIN + 56, y);
        whisker(x + MARK, y - 10, y + 2);
        x = pen.text(figure.legend().whisker(), x + 18, y, Pen.TEXT, Pen.INK, 0) + 28;
        diamond(x + MARK, y - 4.5);
        pen.text(figure.legend().marker(), x + 18, y, Pen.TEXT, Pen.INK, 0);
    }
}
