/** Integers and permutations: which expert gets which token, in which order, and what is dropped. */
@NullMarked
package org.moe4j.core.dispatch;

import org.jspecify.annotations.NullMarked;
