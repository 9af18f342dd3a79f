/**
 * Joining the routed and the shared output, and predicting the scale of the result.
 *
 * <p>{@code y_t = Σ_i r_ti · f_i(x_t) + s_t · g(x_t)} (Equation 80 of the report on Olmo's MoE recipe), where p are the
 * router's weights and {@code r = α·p}; a {@link org.moe4j.merge.MergeConvention} says what α and s are. The symbols are
 * those of {@link org.moe4j.core.layer}.
 */
@NullMarked
package org.moe4j.merge;

import org.jspecify.annotations.NullMarked;
