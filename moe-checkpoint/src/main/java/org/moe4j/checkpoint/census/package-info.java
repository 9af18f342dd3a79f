/**
 * What a model consists of: how many parameters it has, by what they are for, how many of them work on one token, and what its merge
 * predicts at initialization. From {@code config.json} by formulas, or from the headers of the files by names; both are lines of the
 * family's layout.
 */
@NullMarked
package org.moe4j.checkpoint.census;

import org.jspecify.annotations.NullMarked;
