/** Banks of experts: the only room that says silu, gate, up and down. */
@NullMarked
package org.moe4j.core.expert;

import org.jspecify.annotations.NullMarked;
