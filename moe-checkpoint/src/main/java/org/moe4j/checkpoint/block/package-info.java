/** What stands around an MoE layer in a model: norms and the residual stream. */
@NullMarked
package org.moe4j.checkpoint.block;

import org.jspecify.annotations.NullMarked;
