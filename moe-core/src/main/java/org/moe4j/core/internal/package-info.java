/** Argument checks and small helpers of the library; nobody's API. */
@NullMarked
package org.moe4j.core.internal;

import org.jspecify.annotations.NullMarked;
