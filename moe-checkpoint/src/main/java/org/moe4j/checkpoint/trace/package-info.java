/**
 * Routing traces in files: which experts the tokens of each layer went to, or their router logits, as safetensors or NumPy arrays.
 * Files are mapped and read in blocks, so that a trace may be larger than memory; what cannot be a trace is refused with the name of
 * the file, the tensor and the token.
 */
@NullMarked
package org.moe4j.checkpoint.trace;

import org.jspecify.annotations.NullMarked;
