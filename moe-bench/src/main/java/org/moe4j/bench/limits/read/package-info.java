/** Reading memory with Java's Vector API; compiled apart, like {@code org.moe4j.core.vector.tile}. */
@NullMarked
package org.moe4j.bench.limits.read;

import org.jspecify.annotations.NullMarked;
