package org.moe4j.bench.support;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.geom.Path2D;
import java.math.BigDecimal;
import java.util.List;
import java.util.stream.Collectors;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.LineFigure.Panel;
import org.moe4j.bench.support.LineFigure.Point;

/** Draws a {@link LineFigure}. */
final class LineFigurePainter {
    private static final int PANEL_HEIGHT = 420;
    private static final int FOOT = 48;

    /** Panels in one row; of more, as many as {@link #ABREAST} stand in each. */
    private static final int MOST_IN_ONE_ROW = 4;

    private static final int ABREAST = 3;

    /** Of the colours of Okabe and Ito, which the colour-blind can tell apart too. */
    static final List<Color> COLORS = List.of(
            new Color(0xd5, 0x5e, 0x00),
            new Color(0x00, 0x72, 0xb2),
            new Color(0x00, 0x9e, 0x73),
            new Color(0xcc, 0x79, 0xa7));

    /** Names of a panel's own lines in a row. */
    private static final int NAMES_ABREAST = 2;

    private static final int NAME_HEIGHT = 20;

    /** Of the label of a line across a panel: below it, or above it where the ticks would be in its way. */
    private static final int LABEL_HEIGHT = 16;

    private static final int LABEL_GAP = 6;

    private static final int BAND_OPACITY = 48;
    private static final BasicStroke LINE = new BasicStroke(2, BasicStroke.CAP_ROUND, BasicStroke.JOIN_ROUND);

    /** Ticks outside of these are written as powers of ten. */
    private static final double LEAST_PLAIN = 1e-3;

    private static final double MOST_PLAIN = 1e6;
    private static final double MOST_PLAIN_AMONG_FAR = 1e3;

    private final Pen pen;
    private final LineFigure figure;

    private LineFigurePainter(Pen pen, LineFigure figure) {
        this.pen = pen;
        this.figure = figure;
    }

    static void paint(LineFigure figure, Graphics2D g) {
        new LineFigurePainter(new Pen(g), figure).paint();
    }

    static int height(LineFigure figure) {
        int panels = figure.panels().size();
        return Pen.HEAD + (panels + abreast(panels) - 1) / abreast(panels) * PANEL_HEIGHT + FOOT;
    }

    private static int abreast(int panels) {
        return panels > MOST_IN_ONE_ROW ? ABREAST : Math.max(1, panels);
    }

    private void paint() {
        pen.sheet(height(figure), figure.title(), figure.subtitle());
        int abreast = abreast(figure.panels().size());
        double width = (Figure.WIDTH - Pen.MARGIN) / (double) abreast;
        for (int i = 0; i < figure.panels().size(); i++) {
            double x = Pen.MARGIN + i % abreast * width;
            panel(figure.panels().get(i), x, Pen.HEAD + i / abreast * PANEL_HEIGHT, width - Pen.MARGIN);
        }
        double x = Pen.MARGIN + 56;
        double baseline = height(figure) - FOOT / 2.0;
        for (int i = 0; i < figure.series().size(); i++) {
            x = pen.swatch(COLORS.get(i), figure.series().get(i), x, baseline);
        }
        pen.text(figure.legend(), x, baseline, Pen.TEXT, Pen.SOFT_INK, 0);
    }

    private void panel(Panel panel, double x, double top, double width) {
        pen.text(panel.title(), x, top + 20, Pen.HEADING, Pen.INK, 0);
        int names = namesHeight();
        Plot plot = new Plot(panel.x(), panel.y(), x + 56, top + 36 + names, width - 56, PANEL_HEIGHT - 92 - names);
        names(panel, plot, top);
        axes(plot, x);
        for (int i = 0; i < panel.lines().size(); i++) {
            band(panel.lines().get(i), plot, COLORS.get(i));
        }
        panel.references().forEach(reference -> {
            double y = plot.y(reference.y());
            pen.line(plot.left(), y, plot.right(), y, Pen.INK, Pen.DASHED);
            double baseline = y + LABEL_HEIGHT > plot.bottom() ? y - LABEL_GAP : y + LABEL_HEIGHT;
            pen.text(reference.label(), plot.right(), baseline, Pen.SMALL, Pen.INK, 1);
        });
        for (int i = 0; i < panel.lines().size(); i++) {
            Path2D path = new Path2D.Double();
            panel.lines().get(i).forEach(point -> extend(path, plot.x(point.x()), plot.y(point.y())));
            pen.draw(path, COLORS.get(i), LINE);
        }
    }

    /** The same for all panels, so that they stand side by side. */
    private int namesHeight() {
        int most = figure.panels().stream()
                .mapToInt(panel -> panel.series().size())
                .max()
                .orElse(0);
        return (most + NAMES_ABREAST - 1) / NAMES_ABREAST * NAME_HEIGHT;
    }

    private void names(Panel panel, Plot plot, double top) {
        for (int i = 0; i < panel.series().size(); i++) {
            double x = plot.left() + i % NAMES_ABREAST * plot.width() / NAMES_ABREAST;
            double baseline = top + 42 + i / NAMES_ABREAST * NAME_HEIGHT;
            pen.swatch(COLORS.get(i), panel.series().get(i), x, baseline);
        }
    }

    /** Where the lines of a panel run. */
    private record Plot(Axis across, Axis up, double left, double top, double width, double height) {
        double x(double value) {
            return left + across.share(value) * width;
        }

        double y(double value) {
            return bottom() - up.share(value) * height;
        }

        double right() {
            return left + width;
        }

        double bottom() {
            return top + height;
        }
    }

    private void axes(Plot plot, double left) {
        for (double tick : plot.up().ticks()) {
            double y = plot.y(tick);
            pen.line(plot.left(), y, plot.right(), y, Pen.GRID, Pen.HAIR);
            pen.text(label(tick, plot.up()), plot.left() - 8, y + 4, Pen.SMALL, Pen.SOFT_INK, 1);
        }
        pen.line(plot.left(), plot.bottom(), plot.right(), plot.bottom(), Pen.INK, Pen.HAIR);
        for (double tick : plot.across().ticks()) {
            double x = plot.x(tick);
            pen.line(x, plot.bottom(), x, plot.bottom() + 4, Pen.INK, Pen.HAIR);
            pen.text(label(tick, plot.across()), x, plot.bottom() + 18, Pen.SMALL, Pen.SOFT_INK, 0.5);
        }
        pen.upwards(plot.up().label(), left + 12, plot.top() + plot.height() / 2);
        double middle = plot.left() + plot.width() / 2;
        pen.text(plot.across().label(), middle, plot.bottom() + 38, Pen.SMALL, Pen.SOFT_INK, 0.5);
    }

    /**
     * As 0.5 or 200; on an axis with a tick below a thousandth or above a million, all that are below 1 or above a thousand are powers
     * of ten.
     */
    static String label(double tick, Axis axis) {
        BigDecimal exact = BigDecimal.valueOf(tick).stripTrailingZeros();
        boolean far = axis.ticks().stream().anyMatch(any -> outside(any, LEAST_PLAIN, MOST_PLAIN));
        if (!(far && outside(tick, 1, MOST_PLAIN_AMONG_FAR))) {
            return exact.toPlainString();
        }
        int exponent = exact.precision() - exact.scale() - 1;
        BigDecimal factor = exact.movePointLeft(exponent).stripTrailingZeros();
        String times = factor.compareTo(BigDecimal.ONE) == 0 ? "" : factor.toPlainString() + "·";
        return times + "10" + raised(exponent);
    }

    /** Of what is not 0. */
    private static boolean outside(double tick, double least, double most) {
        double size = Math.abs(tick);
        return size != 0 && (size < least || size > most);
    }

    private static String raised(int exponent) {
        return Integer.toString(exponent)
                .chars()
                .mapToObj(c -> c == '-' ? "⁻" : String.valueOf("⁰¹²³⁴⁵⁶⁷⁸⁹".charAt(c - '0')))
                .collect(Collectors.joining());
    }

    private void band(List<Point> line, Plot plot, Color color) {
        Path2D path = new Path2D.Double();
        line.forEach(point -> extend(path, plot.x(point.x()), plot.y(point.high())));
        for (int i = line.size() - 1; i >= 0; i--) {
            extend(path, plot.x(line.get(i).x()), plot.y(line.get(i).low()));
        }
        if (!line.isEmpty()) {
            path.closePath();
        }
        pen.fill(path, new Color(color.getRed(), color.getGreen(), color.getBlue(), BAND_OPACITY));
    }

    private static void extend(Path2D path, double x, double y) {
        if (path.getCurrentPoint() == null) {
            path.moveTo(x, y);
        } else {
            path.lineTo(x, y);
        }
    }
}
