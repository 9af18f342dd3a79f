/** {@code moe bench limits}: what the machine can do, and how near to it a layer comes. */
@NullMarked
package org.moe4j.bench.limits;

import org.jspecify.annotations.NullMarked;
