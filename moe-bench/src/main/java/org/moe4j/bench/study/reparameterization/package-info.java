/** The reparameterization study: which training settings follow a layer whose merge factors moved into its weights. */
@NullMarked
package org.moe4j.bench.study.reparameterization;

import org.jspecify.annotations.NullMarked;
