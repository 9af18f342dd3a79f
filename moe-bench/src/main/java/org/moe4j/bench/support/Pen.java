package org.moe4j.bench.support;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.Shape;
import java.awt.geom.AffineTransform;
import java.awt.geom.Line2D;
import java.awt.geom.Rectangle2D;

/** Lines and words in the hand that all figures share. */
final class Pen {
    static final Color INK = new Color(0x22, 0x26, 0x2b);
    static final Color SOFT_INK = new Color(0x5a, 0x62, 0x6b);
    static final Color GRID = new Color(0xe4, 0xe7, 0xea);

    static final Font TITLE = new Font(Font.SANS_SERIF, Font.BOLD, 20);
    static final Font HEADING = new Font(Font.SANS_SERIF, Font.BOLD, 14);
    static final Font TEXT = new Font(Font.SANS_SERIF, Font.PLAIN, 13);
    static final Font SMALL = new Font(Font.SANS_SERIF, Font.PLAIN, 12);
    static final Font SMALLEST = new Font(Font.SANS_SERIF, Font.PLAIN, 11);

    /** Around the figure and between panels. */
    static final int MARGIN = 24;

    /** Of title and subtitle. */
    static final int HEAD = 74;

    static final BasicStroke HAIR = new BasicStroke(1);
    static final BasicStroke DASHED = new BasicStroke(1, 0, 0, 10, new float[] {5, 4}, 0);

    private final Graphics2D g;

    Pen(Graphics2D g) {
        this.g = g;
        g.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
        g.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
        g.setRenderingHint(RenderingHints.KEY_FRACTIONALMETRICS, RenderingHints.VALUE_FRACTIONALMETRICS_ON);
    }

    /** A white sheet with a title and a line below it. */
    void sheet(int height, String title, String subtitle) {
        fill(new Rectangle2D.Double(0, 0, Figure.WIDTH, height), Color.WHITE);
        text(title, MARGIN, 36, TITLE, INK, 0);
        text(subtitle, MARGIN, 58, TEXT, SOFT_INK, 0);
    }

    void fill(Shape shape, Color color) {
        g.setColor(color);
        g.fill(shape);
    }

    void draw(Shape shape, Color color, BasicStroke stroke) {
        g.setColor(color);
        g.setStroke(stroke);
        g.draw(shape);
    }

    void line(double x0, double y0, double x1, double y1, Color color, BasicStroke stroke) {
        draw(new Line2D.Double(x0, y0, x1, y1), color, stroke);
    }

    /** Paints with edges that are not smoothed, so that what lies side by side shows no seams. */
    void sharply(Runnable strokes) {
        g.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_OFF);
        strokes.run();
        g.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
    }

    /** Text of at most so many letters, the last of them dots where some are left out. */
    static String shortened(String text, int letters) {
        return text.codePointCount(0, text.length()) <= letters
                ? text
                : text.substring(0, text.offsetByCodePoints(0, letters - 1)) + "…";
    }

    /** Draws text with the given share of its width left of x; gives its right end. */
    double text(String text, double x, double baseline, Font font, Color color, double share) {
        double width = font.getStringBounds(text, g.getFontRenderContext()).getWidth();
        double left = x - share * width;
        g.setFont(font);
        g.setColor(color);
        g.drawString(text, (float) left, (float) baseline);
        return left + width;
    }

    /** Draws text upwards, its middle at the given point. */
    void upwards(String text, double x, double y) {
        AffineTransform upright = g.getTransform();
        g.rotate(-Math.PI / 2, x, y);
        text(text, x, y, SMALL, SOFT_INK, 0.5);
        g.setTransform(upright);
    }

    /** A small square of a colour and what it means; gives where the next one may stand. */
    double swatch(Color color, String label, double x, double baseline) {
        fill(new Rectangle2D.Double(x, baseline - 10, 11, 11), color);
        return text(label, x + 17, baseline, TEXT, INK, 0) + 28;
    }
}
