/** One MoE layer of a checkpoint on activations from a file, with what it gives in another file. */
@NullMarked
package org.moe4j.bench.run;

import org.jspecify.annotations.NullMarked;
