/**
 * The waist: the few kernels an MoE layer needs, and the matrices they work on.
 *
 * <p>Everything above this package speaks to {@link org.moe4j.core.backend.Backend} only; everything below implements it.
 * Symbols: T tokens, D hidden size, F intermediate size of one expert, E routed experts, K experts per token, N ≤ T·K
 * dispatched rows.
 */
@NullMarked
package org.moe4j.core.backend;

import org.jspecify.annotations.NullMarked;
