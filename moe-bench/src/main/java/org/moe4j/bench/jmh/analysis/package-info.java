/** What measures of a routing cost. */
@NullMarked
package org.moe4j.bench.jmh.analysis;

import org.jspecify.annotations.NullMarked;
