/** The merge-scale study: what each merge convention does to the scale of output and gradients at initialization. */
@NullMarked
package org.moe4j.bench.study.mergescale;

import org.jspecify.annotations.NullMarked;
