/** Calls that are measured in turn, in one process. */
@NullMarked
package org.moe4j.bench.timing;

import org.jspecify.annotations.NullMarked;
