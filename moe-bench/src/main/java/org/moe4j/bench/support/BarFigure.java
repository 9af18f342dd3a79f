package org.moe4j.bench.support;

import java.awt.Graphics2D;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A figure of panels with grouped bars, two panels in a row; what is drawn, not how.
 *
 * @param title of the whole figure
 * @param subtitle how the numbers came about, one line
 * @param groups labels below the bars, one or two lines each, the same for all panels
 * @param panels from left to right and top to bottom
 * @param legend what the marks mean
 */
public record BarFigure(String title, String subtitle, List<List<String>> groups, List<Panel> panels, Legend legend)
        implements Figure {
    /**
     * Copies the lists and checks that every series has one bar per group.
     *
     * @param title of the whole figure
     * @param subtitle how the numbers came about, one line
     * @param groups labels below the bars, one or two lines each, the same for all panels
     * @param panels from left to right and top to bottom
     * @param legend what the marks mean
     */
    public BarFigure {
        groups = groups.stream().map(List::copyOf).toList();
        panels = List.copyOf(panels);
        for (Panel panel : panels) {
            for (Series series : panel.series()) {
                if (series.bars().size() != groups.size()) {
                    throw new IllegalArgumentException(panel.title() + ": expected " + groups.size()
                            + " bars (groups) but was "
                            + series.bars().size());
                }
            }
        }
    }

    @Override
    public int height() {
        return BarFigurePainter.height(this);
    }

    @Override
    public void paint(Graphics2D g) {
        BarFigurePainter.paint(this, g);
    }

    /**
     * One panel.
     *
     * @param title above it
     * @param axis what the bars measure, with its unit
     * @param top upper end of the axis, which begins at 0
     * @param reference label of a line at 1; empty for none
     * @param series bars side by side in each group
     */
    public record Panel(String title, String axis, double top, Optional<String> reference, List<Series> series) {
        /**
         * Copies the list.
         *
         * @param title above it
         * @param axis what the bars measure, with its unit
         * @param top upper end of the axis, which begins at 0
         * @param reference label of a line at 1; empty for none
         * @param series bars side by side in each group
         */
        public Panel {
            series = List.copyOf(series);
        }
    }

    /**
     * Bars of one colour.
     *
     * @param name for the panel's legend, which is drawn when there are several series
     * @param bars one per group
     */
    public record Series(String name, List<Bar> bars) {
        /**
         * Copies the list.
         *
         * @param name for the panel's legend, which is drawn when there are several series
         * @param bars one per group
         */
        public Series {
            bars = List.copyOf(bars);
        }
    }

    /**
     * One bar.
     *
     * @param value its height
     * @param low lower end of its whisker
     * @param high upper end of its whisker
     * @param marker a value to compare with
     */
    public record Bar(double value, double low, double high, OptionalDouble marker) {}

    /**
     * What the marks mean.
     *
     * @param bar of a bar
     * @param whisker of a whisker
     * @param marker of a marker
     */
    public record Legend(String bar, String whisker, String marker) {}
}
