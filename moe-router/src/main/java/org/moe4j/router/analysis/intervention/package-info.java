/**
 * One change to a layer whose weights stay as they are, and how far its output moves: experts that are masked, another K, a shared branch
 * that is silent or another one. A layer's output is no model's loss; and what a mask breaks here, others may mend in later layers.
 */
@NullMarked
package org.moe4j.router.analysis.intervention;

import org.jspecify.annotations.NullMarked;
