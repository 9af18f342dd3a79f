/** Optimizers of the studies: small, in double on plain arrays, element for element as their sources define them. */
@NullMarked
package org.moe4j.bench.optimizer;

import org.jspecify.annotations.NullMarked;
