package org.moe4j.bench.support;

import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.geom.Rectangle2D;
import org.moe4j.bench.support.LineFigure.Axis;
import org.moe4j.bench.support.ManyBarsFigure.Panel;

/** Draws a {@link ManyBarsFigure}. */
final class ManyBarsFigurePainter {
    private static final int PANEL_HEIGHT = 236;
    private static final int ABOVE = 36;
    private static final int BELOW = 50;
    private static final int LEFT = 64;

    /** For the label of the reference, beside the bars and not on them. */
    private static final int RIGHT = 130;

    /** Bars as narrow as this have no gaps. */
    private static final double NARROW = 4;

    private static final double WIDEST_BAR = 110;
    private static final double TICK_ROOM = 36;
    private static final Color FILL = new Color(0x4a, 0x8f, 0xb8);

    private final Pen pen;
    private final ManyBarsFigure figure;

    private ManyBarsFigurePainter(Pen pen, ManyBarsFigure figure) {
        this.pen = pen;
        this.figure = figure;
    }

    static int height(ManyBarsFigure figure) {
        return Pen.HEAD + figure.panels().size() * PANEL_HEIGHT;
    }

    static void paint(ManyBarsFigure figure, Graphics2D g) {
        new ManyBarsFigurePainter(new Pen(g), figure).paint();
    }

    private void paint() {
        pen.sheet(height(figure), figure.title(), figure.subtitle());
        for (int i = 0; i < figure.panels().size(); i++) {
            panel(figure.panels().get(i), Pen.HEAD + i * PANEL_HEIGHT);
        }
    }

    private void panel(Panel panel, double y) {
        double left = Pen.MARGIN + LEFT;
        double right = Figure.WIDTH - Pen.MARGIN - RIGHT;
        double top = y + ABOVE;
        double bottom = y + PANEL_HEIGHT - BELOW;
        pen.text(panel.title(), Pen.MARGIN, y + 20, Pen.HEADING, Pen.INK, 0);
        for (double tick : panel.axis().ticks()) {
            double at = at(panel.axis(), tick, top, bottom);
            pen.line(left, at, right, at, Pen.GRID, Pen.HAIR);
            pen.text(LineFigurePainter.label(tick, panel.axis()), left - 8, at + 4, Pen.SMALL, Pen.SOFT_INK, 1);
        }
        pen.upwards(panel.axis().label(), Pen.MARGIN + 12, (top + bottom) / 2);
        bars(panel, left, right, top, bottom);
        pen.line(left, bottom, right, bottom, Pen.INK, Pen.HAIR);
        double even = at(panel.axis(), panel.reference().y(), top, bottom);
        pen.line(left, even, right, even, Pen.INK, Pen.DASHED);
        pen.text(panel.reference().label(), right + 8, even + 4, Pen.SMALL, Pen.INK, 0);
        pen.text(panel.things(), (left + right) / 2, bottom + 36, Pen.SMALL, Pen.SOFT_INK, 0.5);
    }

    private void bars(Panel panel, double left, double right, double top, double bottom) {
        int count = panel.bars().size();
        double room = Math.min(WIDEST_BAR, (right - left) / count);
        double gap = room <= NARROW ? 0 : Math.max(1, room * 0.15);
        pen.sharply(() -> {
            for (int i = 0; i < count; i++) {
                double at = at(panel.axis(), panel.bars().get(i), top, bottom);
                pen.fill(new Rectangle2D.Double(left + i * room + gap / 2, at, room - gap, bottom - at), FILL);
            }
        });
        int step = 1;
        while (step * room < TICK_ROOM && step < count) {
            step *= 2;
        }
        for (int i = 0; i < count; i += step) {
            double middle = left + (i + 0.5) * room;
            pen.line(middle, bottom, middle, bottom + 4, Pen.INK, Pen.HAIR);
            pen.text(Integer.toString(i), middle, bottom + 18, Pen.SMALL, Pen.SOFT_INK, 0.5);
        }
    }

    private static double at(Axis axis, double value, double top, double bottom) {
        return bottom - axis.share(value) * (bottom - top);
    }
}
