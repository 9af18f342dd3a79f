/**
 * Files of tensors in the safetensors format: an eight-byte length, a JSON header, the bytes of all tensors without holes.
 *
 * <p>Everything a header says is checked before any tensor is read, so that a malformed file is an error that names file, tensor
 * and offset, and costs no more memory than the file is long.
 *
 * @see <a href="https://github.com/huggingface/safetensors">The format</a>
 */
@NullMarked
package org.moe4j.checkpoint.safetensors;

import org.jspecify.annotations.NullMarked;
