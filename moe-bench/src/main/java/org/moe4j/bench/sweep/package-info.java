/** One layer with the same weights and more and more experts for each token. */
@NullMarked
package org.moe4j.bench.sweep;

import org.jspecify.annotations.NullMarked;
