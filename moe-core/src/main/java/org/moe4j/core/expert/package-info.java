/** Banks of experts: sizes, kinds and weights, in the words gate, up and down. */
@NullMarked
package org.moe4j.core.expert;

import org.jspecify.annotations.NullMarked;
