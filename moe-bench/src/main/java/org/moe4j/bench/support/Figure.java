package org.moe4j.bench.support;

import java.awt.Graphics2D;

/** A picture that {@link FigureFiles} makes a file of. */
public sealed interface Figure permits BarFigure, HeatFigure, LineFigure, ManyBarsFigure {
    /** Width of every figure, in units of the drawing. */
    int WIDTH = 1200;

    /**
     * What it shows.
     *
     * @return one line
     */
    String title();

    /**
     * Height.
     *
     * @return units of the drawing
     */
    int height();

    /**
     * Paints on a surface of {@link #WIDTH} by {@link #height} units; the same strokes become pixels or SVG elements.
     *
     * @param g the surface
     */
    void paint(Graphics2D g);
}
