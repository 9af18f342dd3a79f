/**
 * The pipeline route → dispatch → experts → combine → merge, and the ports that routers and merges fill.
 *
 * <p>Symbols, used everywhere: <b>T</b> tokens, <b>D</b> hidden size, <b>F</b> intermediate size of one routed expert,
 * <b>E</b> routed experts, <b>K</b> experts per token, <b>N</b> ≤ T·K rows that are really dispatched. A name that begins
 * with {@code d}, as {@code dOutput}, is the gradient of a scalar loss with respect to what follows.
 */
@NullMarked
package org.moe4j.core.layer;

import org.jspecify.annotations.NullMarked;
