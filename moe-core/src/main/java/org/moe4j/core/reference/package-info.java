/** The definition: each kernel as the shortest correct loop in {@code double}, without any native library. */
@NullMarked
package org.moe4j.core.reference;

import org.jspecify.annotations.NullMarked;
