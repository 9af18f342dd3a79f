/** What backends that compute on the host share: the pool of workers, and activations as loops. Nobody's API. */
@NullMarked
package org.moe4j.core.host;

import org.jspecify.annotations.NullMarked;
