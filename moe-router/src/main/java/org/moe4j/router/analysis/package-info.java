/**
 * What a routing is like: how even, how wide together, how different between texts. Everything here reads the experts of tokens,
 * block after block, so that a trace may be longer than memory; nothing here computes a layer.
 */
@NullMarked
package org.moe4j.router.analysis;

import org.jspecify.annotations.NullMarked;
