/**
 * How a family of models lays a layer out in tensors: names, axes and encodings as data, and the views by which a part of a layer is
 * read from them and written to them.
 */
@NullMarked
package org.moe4j.checkpoint.layout;

import org.jspecify.annotations.NullMarked;
