/** Models as files: one layer's sizes and conventions as named values, with their source. */
@NullMarked
package org.moe4j.core.preset;

import org.jspecify.annotations.NullMarked;
