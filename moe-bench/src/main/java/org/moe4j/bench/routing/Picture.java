package org.moe4j.bench.routing;

import org.moe4j.bench.support.Figure;

/**
 * A picture of the report.
 *
 * @param name of its files, behind {@code routing-} and before the ending
 * @param caption how to read it, one or two sentences
 * @param figure what is drawn
 */
public record Picture(String name, String caption, Figure figure) {}
