package org.moe4j.bench.support;

import java.awt.Graphics2D;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A figure of panels with lines and the band around each, up to four side by side and more in rows of three; what is drawn, not
 * how.
 *
 * @param title of the whole figure
 * @param subtitle how the numbers came about, one line
 * @param series names of the lines, the same for all panels that have none of their own; at most four
 * @param legend what line and band mean, one line
 * @param panels from left to right and top to bottom
 */
public record LineFigure(String title, String subtitle, List<String> series, String legend, List<Panel> panels)
        implements Figure {
    private static final int MOST_SERIES = LineFigurePainter.COLORS.size();

    /**
     * Copies the lists and checks that every panel has its lines.
     *
     * @param title of the whole figure
     * @param subtitle how the numbers came about, one line
     * @param series names of the lines, the same for all panels that have none of their own; at most four
     * @param legend what line and band mean, one line
     * @param panels from left to right and top to bottom
     */
    public LineFigure {
        series = List.copyOf(series);
        panels = List.copyOf(panels);
        requireFew("series", series);
        for (Panel panel : panels) {
            int names = panel.series().isEmpty()
                    ? series.size()
                    : requireFew(panel.title(), panel.series()).size();
            if (panel.lines().size() != names) {
                throw new IllegalArgumentException(panel.title() + ": expected " + names + " lines (series) but was "
                        + panel.lines().size());
            }
        }
    }

    private static List<String> requireFew(String name, List<String> series) {
        if (series.size() > MOST_SERIES) {
            throw new IllegalArgumentException(
                    name + ": expected at most " + MOST_SERIES + " names but was " + series.size());
        }
        return series;
    }

    @Override
    public int height() {
        return LineFigurePainter.height(this);
    }

    @Override
    public void paint(Graphics2D g) {
        LineFigurePainter.paint(this, g);
    }

    /**
     * One panel.
     *
     * @param title above it
     * @param x the axis below
     * @param y the axis at the left
     * @param references lines across the panel
     * @param lines one per series
     * @param series names of this panel's lines, drawn below its title; none where they are those of the figure
     */
    public record Panel(
            String title, Axis x, Axis y, List<Reference> references, List<List<Point>> lines, List<String> series) {
        /**
         * Copies the lists.
         *
         * @param title above it
         * @param x the axis below
         * @param y the axis at the left
         * @param references lines across the panel
         * @param lines one per series
         * @param series names of this panel's lines, drawn below its title; none where they are those of the figure
         */
        public Panel {
            references = List.copyOf(references);
            lines = lines.stream().map(List::copyOf).toList();
            series = List.copyOf(series);
        }

        /**
         * A panel of the figure's series.
         *
         * @param title above it
         * @param x the axis below
         * @param y the axis at the left
         * @param references lines across the panel
         * @param lines one per series
         */
        public Panel(String title, Axis x, Axis y, List<Reference> references, List<List<Point>> lines) {
            this(title, x, y, references, lines, List.of());
        }
    }

    /**
     * An axis; it reaches from its first tick to its last.
     *
     * @param label what it measures, with its unit
     * @param ticks ascending, at least two; above 0 on a logarithmic axis
     * @param logarithmic whether equal distances are equal ratios
     */
    public record Axis(String label, List<Double> ticks, boolean logarithmic) {
        private static final int MOST_STEPS = 6;

        private static final List<BigDecimal> STEPS = Stream.of("1", "2", "2.5", "5", "10", "20", "25", "50")
                .map(BigDecimal::new)
                .toList();

        /**
         * Copies the list and checks it.
         *
         * @param label what it measures, with its unit
         * @param ticks ascending, at least two; above 0 on a logarithmic axis
         * @param logarithmic whether equal distances are equal ratios
         */
        public Axis {
            ticks = List.copyOf(ticks);
            if (ticks.size() < 2 || !ticks.stream().sorted().distinct().toList().equals(ticks)) {
                throw new IllegalArgumentException("ticks: expected at least two in ascending order but was " + ticks);
            }
            if (logarithmic && !(ticks.get(0) > 0)) {
                throw new IllegalArgumentException(
                        "ticks: expected numbers above 0 (logarithmic) but was " + ticks.get(0));
            }
        }

        /**
         * From 0 to at least some value, in round steps.
         *
         * @param label what it measures, with its unit
         * @param most finite; of what is not above 0 the axis ends at 1
         * @return an axis that is not logarithmic, of four to eight ticks
         */
        public static Axis reaching(String label, double most) {
            double end = most > 0 ? most : 1;
            BigDecimal power = BigDecimal.ONE.scaleByPowerOfTen((int) Math.floor(Math.log10(end)) - 1);
            BigDecimal step = STEPS.stream()
                    .map(power::multiply)
                    .filter(any -> any.doubleValue() * MOST_STEPS >= end)
                    .findFirst()
                    .orElseThrow();
            List<Double> ticks = new ArrayList<>(List.of(0.0));
            while (ticks.get(ticks.size() - 1) < end) {
                ticks.add(step.multiply(BigDecimal.valueOf(ticks.size())).doubleValue());
            }
            return new Axis(label, ticks, false);
        }

        /** Where a value stands between the first tick (0) and the last (1); what lies outside is cut off. */
        double share(double value) {
            double low = scaled(ticks.get(0));
            double share = (scaled(value) - low) / (scaled(ticks.get(ticks.size() - 1)) - low);
            return Math.max(0, Math.min(1, share));
        }

        private double scaled(double value) {
            return logarithmic ? StrictMath.log(value) : value;
        }
    }

    /**
     * A line across a panel.
     *
     * @param y its height
     * @param label at its right end, below it unless the axis is there
     */
    public record Reference(double y, String label) {}

    /**
     * One point of a line and of the band around it.
     *
     * @param x position
     * @param y of the line
     * @param low lower edge of the band
     * @param high upper edge of the band
     */
    public record Point(double x, double y, double low, double high) {}
}
