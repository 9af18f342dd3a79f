package org.moe4j.bench.support;

import java.awt.Graphics2D;
import java.util.List;

/**
 * A figure of panels with one thin bar for each of up to hundreds of things, one panel below the other; what is drawn, not how.
 *
 * @param title of the whole figure
 * @param subtitle how the numbers came about, one line
 * @param panels from top to bottom
 */
public record ManyBarsFigure(String title, String subtitle, List<Panel> panels) implements Figure {
    /**
     * Copies the list.
     *
     * @param title of the whole figure
     * @param subtitle how the numbers came about, one line
     * @param panels from top to bottom
     */
    public ManyBarsFigure {
        panels = List.copyOf(panels);
    }

    @Override
    public int height() {
        return ManyBarsFigurePainter.height(this);
    }

    @Override
    public void paint(Graphics2D g) {
        ManyBarsFigurePainter.paint(this, g);
    }

    /**
     * One panel.
     *
     * @param title above it
     * @param things what the bars are, below them; the bars are numbered from 0
     * @param axis what the bars measure
     * @param reference a line across the panel, with its label at the right of it
     * @param bars heights, at least one
     */
    public record Panel(
            String title, String things, LineFigure.Axis axis, LineFigure.Reference reference, List<Double> bars) {
        /**
         * Copies the list and checks it.
         *
         * @param title above it
         * @param things what the bars are, below them; the bars are numbered from 0
         * @param axis what the bars measure
         * @param reference a line across the panel, with its label at the right of it
         * @param bars heights, at least one
         */
        public Panel {
            bars = List.copyOf(bars);
            if (bars.isEmpty()) {
                throw new IllegalArgumentException(title + ": expected at least one bar but was none");
            }
        }
    }
}
