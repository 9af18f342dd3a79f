/**
 * The innermost loops of the vector backend. This is the only package that imports Java's Vector API, which is compiled on its own
 * because compilers warn of a module that incubates. Nobody's API.
 */
@NullMarked
package org.moe4j.core.vector.tile;

import org.jspecify.annotations.NullMarked;
