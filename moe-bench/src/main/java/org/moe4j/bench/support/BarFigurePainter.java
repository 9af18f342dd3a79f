package org.moe4j.bench.support;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.AffineTransform;
import java.awt.geom.Line2D;
import java.awt.geom.Path2D;
import java.awt.geom.Rectangle2D;
import java.util.List;
import java.util.Locale;
import org.moe4j.bench.support.BarFigure.Bar;
import org.moe4j.bench.support.BarFigure.Panel;

/** Draws a {@link BarFigure}; the same strokes become pixels or SVG elements. */
final class BarFigurePainter {
    static final int WIDTH = 1200;
    static final int PANEL_HEIGHT = 392;

    private static final int HEAD = 74;
    private static final int FOOT = 48;
    private static final int MARGIN = 24;
    private static final int COLUMNS = 2;

    private static final Color INK = new Color(0x22, 0x26, 0x2b);
    private static final Color SOFT_INK = new Color(0x5a, 0x62, 0x6b);
    private static final Color GRID = new Color(0xe4, 0xe7, 0xea);
    private static final List<Color> FILLS = List.of(new Color(0x6f, 0xa8, 0xc7), new Color(0xec, 0xb0, 0x66));

    private static final Font TITLE = new Font(Font.SANS_SERIF, Font.BOLD, 20);
    private static final Font HEADING = new Font(Font.SANS_SERIF, Font.BOLD, 14);
    private static final Font TEXT = new Font(Font.SANS_SERIF, Font.PLAIN, 13);
    private static final Font SMALL = new Font(Font.SANS_SERIF, Font.PLAIN, 12);
    private static final Font SMALLEST = new Font(Font.SANS_SERIF, Font.PLAIN, 11);
    private static final double TICK = 0.2;
    private static final double MARK = 5.5;
    private static final double WIDEST_BAR = 64;

    private final Graphics2D g;
    private final BarFigure figure;

    private BarFigurePainter(Graphics2D g, BarFigure figure) {
        this.g = g;
        this.figure = figure;
    }

    static int height(BarFigure figure) {
        return HEAD + rows(figure) * PANEL_HEIGHT + FOOT;
    }

    private static int rows(BarFigure figure) {
        return (figure.panels().size() + COLUMNS - 1) / COLUMNS;
    }

    /** Paints on a surface of {@link #WIDTH} by {@link #height} units. */
    static void paint(BarFigure figure, Graphics2D g) {
        new BarFigurePainter(g, figure).paint();
    }

    private void paint() {
        g.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
        g.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
        g.setRenderingHint(RenderingHints.KEY_FRACTIONALMETRICS, RenderingHints.VALUE_FRACTIONALMETRICS_ON);
        g.setColor(Color.WHITE);
        g.fill(new Rectangle2D.Double(0, 0, WIDTH, height(figure)));
        text(figure.title(), MARGIN, 36, TITLE, INK, 0);
        text(figure.subtitle(), MARGIN, 58, TEXT, SOFT_INK, 0);
        double width = (WIDTH - MARGIN) / (double) COLUMNS;
        for (int i = 0; i < figure.panels().size(); i++) {
            int row = i / COLUMNS;
            double x = MARGIN + i % COLUMNS * width;
            panel(figure.panels().get(i), x, HEAD + row * PANEL_HEIGHT, width - MARGIN);
        }
        legend(height(figure) - FOOT / 2.0);
    }

    private void panel(Panel panel, double x, double y, double width) {
        text(panel.title(), x, y + 20, HEADING, INK, 0);
        if (panel.series().size() > 1) {
            double at = x + 56;
            for (int i = 0; i < panel.series().size(); i++) {
                at = swatch(FILLS.get(i), panel.series().get(i).name(), at, y + 42);
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
                text(lines.get(line), center, baseline, line == 0 ? SMALL : SMALLEST, line == 0 ? INK : SOFT_INK, 0.5);
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
            line(plot.x(), y, plot.x() + plot.width(), y, i == 0 ? INK : GRID, new BasicStroke(1));
            text(String.format(Locale.ROOT, "%.1f", i * TICK), plot.x() - 8, y + 4, SMALL, SOFT_INK, 1);
        }
        AffineTransform upright = g.getTransform();
        g.rotate(-Math.PI / 2, left + 12, plot.y() + plot.height() / 2);
        text(panel.axis(), left + 12, plot.y() + plot.height() / 2, SMALL, SOFT_INK, 0.5);
        g.setTransform(upright);
    }

    private void reference(Panel panel, Plot plot) {
        panel.reference().ifPresent(label -> {
            float[] dashes = {5, 4};
            double y = plot.at(1);
            line(plot.x(), y, plot.x() + plot.width(), y, INK, new BasicStroke(1, 0, 0, 10, dashes, 0));
            text(label, plot.x() + plot.width(), y - 6, SMALL, INK, 1);
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
        g.setColor(color);
        g.fill(new Rectangle2D.Double(middle - width / 2, y, width, plot.bottom() - y));
    }

    private void marks(Bar bar, Color color, double middle, double width, Plot plot) {
        whisker(middle - width / 4, plot.at(bar.low()), plot.at(bar.high()));
        bar.marker().ifPresent(value -> diamond(middle + width / 4, plot.at(value)));
        double highest =
                Math.max(Math.max(bar.value(), bar.high()), bar.marker().orElse(0));
        String label = String.format(Locale.ROOT, "%.3f", bar.value());
        text(label, middle, plot.at(highest) - MARK - 4, SMALL, INK, 0.5);
    }

    private void whisker(double x, double low, double high) {
        BasicStroke stroke = new BasicStroke(1.4f);
        line(x, low, x, high, INK, stroke);
        line(x - MARK, low, x + MARK, low, INK, stroke);
        line(x - MARK, high, x + MARK, high, INK, stroke);
    }

    private void diamond(double x, double y) {
        Path2D path = new Path2D.Double();
        path.moveTo(x, y - MARK);
        path.lineTo(x + MARK, y);
        path.lineTo(x, y + MARK);
        path.lineTo(x - MARK, y);
        path.closePath();
        g.setColor(Color.WHITE);
        g.fill(path);
        g.setColor(INK);
        g.setStroke(new BasicStroke(1.4f));
        g.draw(path);
    }

    private void legend(double y) {
        double x = swatch(FILLS.get(0), figure.legend().bar(), MARGIN + 56, y);
        whisker(x + MARK, y - 10, y + 2);
        x = text(figure.legend().whisker(), x + 18, y, TEXT, INK, 0) + 28;
        diamond(x + MARK, y - 4.5);
        text(figure.legend().marker(), x + 18, y, TEXT, INK, 0);
    }

    /** A small square of a colour and what it means; gives where the next one may stand. */
    private double swatch(Color color, String label, double x, double baseline) {
        g.setColor(color);
        g.fill(new Rectangle2D.Double(x, baseline - 10, 11, 11));
        return text(label, x + 17, baseline, TEXT, INK, 0) + 28;
    }

    private void line(double x0, double y0, double x1, double y1, Color color, BasicStroke stroke) {
        g.setColor(color);
        g.setStroke(stroke);
        g.draw(new Line2D.Double(x0, y0, x1, y1));
    }

    /** Draws text with the given share of its width left of x; gives its right end. */
    private double text(String text, double x, double baseline, Font font, Color color, double share) {
        double width = font.getStringBounds(text, g.getFontRenderContext()).getWidth();
        double left = x - share * width;
        g.setFont(font);
        g.setColor(color);
        g.drawString(text, (float) left, (float) baseline);
        return left + width;
    }
}
