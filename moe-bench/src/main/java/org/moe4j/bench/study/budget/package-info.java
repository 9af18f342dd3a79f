/** The shared-budget study: no shared expert, one on top of the routed budget, and one taken out of it. */
@NullMarked
package org.moe4j.bench.study.budget;

import org.jspecify.annotations.NullMarked;
