/**
 * Losses that act on routing: what they are worth, and their gradients.
 *
 * <p>A loss is a value with a name and a coefficient, and a function of one layer's routing or of several layers' at once. A
 * router evaluates the losses it was given on itself; losses over several layers are evaluated by the trainer, whose gradients
 * go into the backward of each layer's pass. The symbols are those of {@link org.moe4j.core.layer}.
 */
@NullMarked
package org.moe4j.router.loss;

import org.jspecify.annotations.NullMarked;
