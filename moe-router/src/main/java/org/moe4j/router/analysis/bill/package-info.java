/**
 * What an MoE layer costs, from its sizes alone: parameters that are held and parameters that work, operations, bytes, and which of
 * the last two takes longer.
 */
@NullMarked
package org.moe4j.router.analysis.bill;

import org.jspecify.annotations.NullMarked;
