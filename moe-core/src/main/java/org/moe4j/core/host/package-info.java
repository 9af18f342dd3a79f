/**
 * What backends that compute on the host share: the pool of workers, activations as loops, and what their self-checks say of the machine.
 * Nobody's API.
 */
@NullMarked
package org.moe4j.core.host;

import org.jspecify.annotations.NullMarked;
