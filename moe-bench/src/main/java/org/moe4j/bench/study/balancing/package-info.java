/** The balancing study: training from an uneven start, balanced in two ways and not at all. */
@NullMarked
package org.moe4j.bench.study.balancing;

import org.jspecify.annotations.NullMarked;
