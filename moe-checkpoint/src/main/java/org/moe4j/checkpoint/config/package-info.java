/** The {@code config.json} of a checkpoint, and the rules by which a family's keys become settings of a layer. */
@NullMarked
package org.moe4j.checkpoint.config;

import org.jspecify.annotations.NullMarked;
