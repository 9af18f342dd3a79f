/**
 * Which experts a token goes to, and with what weight.
 *
 * <p>Logits come from the backend; from there on everything is {@code double} on the host: scores, selection,
 * renormalisation, scale. Each of these choices is a value with a name, so that a model is a combination of values. The
 * symbols are those of {@link org.moe4j.core.layer}.
 */
@NullMarked
package org.moe4j.router;

import org.jspecify.annotations.NullMarked;
