/** The backend without natives: Java's Vector API on weights that are packed when they are loaded. */
@NullMarked
package org.moe4j.core.vector;

import org.jspecify.annotations.NullMarked;
