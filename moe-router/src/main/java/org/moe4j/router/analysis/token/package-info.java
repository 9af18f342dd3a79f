/**
 * What a layer makes of a token: which experts, by which logits and with which weights, what each of them adds, what a gradient
 * reaches, and what of it is rounding.
 */
@NullMarked
package org.moe4j.router.analysis.token;

import org.jspecify.annotations.NullMarked;
