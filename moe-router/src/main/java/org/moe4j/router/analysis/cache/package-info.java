/**
 * Simulated caches of experts: what of a trace a memory with room for C experts would have held already. A cache here is a model of one
 * that holds whole experts; it says nothing of the caches of a processor, of time, of shared experts, which every token needs, or of
 * training, which writes weights and gradients.
 */
@NullMarked
package org.moe4j.router.analysis.cache;

import org.jspecify.annotations.NullMarked;
