/**
 * Exact rewrites of weights: the same function in another form, with what that does to gradients and step sizes; and refusals
 * of what is not the same function (Section 20 of the report on Olmo's MoE recipe).
 */
@NullMarked
package org.moe4j.merge.rewrite;

import org.jspecify.annotations.NullMarked;
