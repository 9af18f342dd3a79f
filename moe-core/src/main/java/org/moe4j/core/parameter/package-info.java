/** Named matrices: parameter sets, their gradients, and how they are drawn at random. */
@NullMarked
package org.moe4j.core.parameter;

import org.jspecify.annotations.NullMarked;
